"""What a decision is made on: what each pool tells of itself, joined with what the cluster shows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from core.autoscale.cluster import Cluster, Past, Pool
from core.autoscale.nodes import Node
from core.autoscale.template import template
from core.autoscale_calls import Autoscale, Measured, Standing
from core.node_keys import POOL_ID


@dataclass(frozen=True, slots=True)
class Assembled:
    """A cluster to decide on. `starting` nodes are left out of it, and so are the pools that are `unsized`."""

    cluster: Cluster
    measured: Mapping[str, Measured]
    starting: frozenset[str]
    unsized: tuple[str, ...]


def assemble(shown: Cluster, working: Collection[str], call: Autoscale) -> Assembled:
    """Put a decision's ground together. `shown` has no pools yet; `working` are the names of nodes that take pods."""
    measured = measure(call.standings, shown.nodes, working, call.measured)
    young = starting(call.standings, shown.nodes, working)
    cluster = replace(
        shown,
        nodes=tuple(node for node in shown.nodes if node.name not in young),
        pools=pools_of(call.standings, shown.nodes, working, measured),
        past=past_of(call),
    )
    unsized = tuple(sorted(standing.spec.name for standing in call.standings if standing.server is None))
    return Assembled(cluster, measured, young, unsized)


def pools_of(
    standings: Iterable[Standing], nodes: Collection[Node], working: Collection[str], measured: Mapping[str, Measured]
) -> tuple[Pool, ...]:
    """The pools that may be decided about, by name. `working` are the names of the nodes that take pods.

    A pool that is being deleted takes no part: it removes every node anyway. Nor does one whose server type's size is
    not known.
    """
    found = []
    for standing in sorted(standings, key=lambda standing: standing.spec.name):
        if standing.server is None or standing.deleting:
            continue
        seen = measured.get(standing.server.name)
        coming = _coming(standing, nodes, working)
        # How many are missing is told when something else is, so it may be late: no more are than are to come.
        missing = min(standing.missing, coming)
        found.append(
            Pool(
                spec=standing.spec,
                template=template(
                    standing.spec, standing.server, standing.pool_id, measured=seen.allocatable if seen else None
                ),
                target=standing.target,
                booting=coming - missing,
                missing=missing,
                backoff=standing.backoff,
                leaving=frozenset(standing.leaving),
                frozen=standing.frozen,
            )
        )
    return tuple(found)


def starting(standings: Iterable[Standing], nodes: Iterable[Node], working: Collection[str]) -> frozenset[str]:
    """The names of nodes that have registered and take no pods yet. They count as servers on their way, and not twice:
    as empty nodes beside these they would be places that a spread has to fill.
    """
    others = {
        standing.pool_id: {*standing.leaving, *standing.broken} for standing in standings if standing.server is not None
    }
    return frozenset(
        node.name
        for node in nodes
        if node.name not in working and node.name not in others.get(node.labels.get(POOL_ID, ""), {node.name})
    )


def past_of(call: Autoscale) -> Past:
    """What the last decisions led to, over all pools: upstream's delays are the whole cluster's."""
    return Past(
        added=call.added,
        failed=_latest(standing.aborted_at for standing in call.standings),
        deleted=_latest(standing.removed_at for standing in call.standings),
        unneeded=call.unneeded,
    )


def measure(
    standings: Iterable[Standing], nodes: Iterable[Node], working: Collection[str], known: Mapping[str, Measured]
) -> dict[str, Measured]:
    """What a node of each server type has for pods, as the ones that work now say; else as was known.

    Where they differ the least of each resource counts: what is promised must be there on every node.
    """
    types = {standing.pool_id: standing.server.name for standing in standings if standing.server}
    found: dict[str, dict[str, int]] = {}
    for node in nodes:
        name = types.get(node.labels.get(POOL_ID, ""))
        if name is None or node.name not in working:
            continue
        before = found.get(name, node.allocatable)
        found[name] = {key: min(amount, before[key]) for key, amount in node.allocatable.items() if key in before}
    return {**known, **{name: Measured(allocatable=dict(sorted(amounts.items()))) for name, amounts in found.items()}}


def _coming(standing: Standing, nodes: Iterable[Node], working: Collection[str]) -> int:
    """The servers that are no working node yet, whether they exist or not: the target, less what is accounted for."""
    leaving = set(standing.leaving)
    alive = sum(
        node.labels.get(POOL_ID) == standing.pool_id and node.name in working and node.name not in leaving
        for node in nodes
    )
    broken = sum(name not in working for name in standing.broken)
    return max(0, standing.target - alive - broken)


def _latest(moments: Iterable[datetime | None]) -> datetime | None:
    return max((moment for moment in moments if moment is not None), default=None)
