"""What leaves the activity of a decision: names, sizes and sentences, and only where something is new."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from core.autoscale.cluster import Cluster
from core.autoscale.decide import Decision
from core.autoscale.reasons import NodeReason
from core.autoscale_calls import Autoscale, Decided, Growth, Measured, Removal

# Nodes whose unneeded time is remembered: of about 60 bytes each, so that a decision stays near 10 kB. A large idle
# cluster loses its nodes in ten at once, so the ones beyond have their time when these are gone.
REMEMBERED = 150
SENTENCE = 600  # characters of a message that goes into a history


def outcome(call: Autoscale, decision: Decision, measured: Mapping[str, Measured]) -> Decided:
    """The part of `decision` that the cluster's workflow must know. That one was made says that the cluster is seen."""
    unneeded = _remembered(decision.unneeded)
    return Decided(
        growth=[
            Growth(pool=size.pool, size=size.size, count=size.count, message=size.message[:SENTENCE])
            for size in decision.sizes
        ],
        removals=_removals(decision),
        unneeded=None if unneeded == call.unneeded else unneeded,
        measured=None if measured == call.measured else dict(measured),
        blind="" if call.blind else None,
    )


def is_news(decided: Decided) -> bool:
    """Whether there is anything to do or to remember."""
    return decided != Decided()


def wake_at(cluster: Cluster, decision: Decision, now: datetime) -> datetime | None:
    """When time alone may change the decision; None when only a change of the world can."""
    past, options = cluster.past, cluster.options
    pools = {pool.spec.name: pool for pool in cluster.pools}
    of_node = {node.name: node.pool for node in cluster.nodes}
    moments = [
        since + pools[of_node[name]].spec.scale_down_after
        for name, since in decision.unneeded.items()
        if of_node.get(name) in pools
    ]
    if decision.unneeded:
        waits = (
            (past.added, options.delay_after_add),
            (past.failed, options.delay_after_failure),
            (past.deleted, options.delay_after_delete),
        )
        moments += [at + delay for at, delay in waits if at is not None]
    moments += [pool.backoff.until for pool in cluster.pools if pool.backoff and pool.backoff.until]
    return min((moment for moment in moments if moment > now), default=None)


def _remembered(unneeded: Mapping[str, datetime]) -> dict[str, datetime]:
    """The nodes that have been unneeded longest, as many as are remembered."""
    longest = sorted(unneeded.items(), key=lambda item: (item[1], item[0]))[:REMEMBERED]
    return dict(sorted(longest))


def _removals(decision: Decision) -> list[Removal]:
    going = set(decision.removals)
    return [
        Removal(
            pool=verdict.pool,
            node=verdict.node,
            empty=verdict.reason is NodeReason.REMOVED_EMPTY,
            message=verdict.message[:SENTENCE],
        )
        for verdict in decision.nodes
        if verdict.node in going
    ]
