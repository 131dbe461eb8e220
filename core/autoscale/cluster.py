"""All that a decision rests on: what the cluster holds, what its pools are, and what they are set to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from core.autoscale.nodes import Node
from core.autoscale.pods import Pod
from core.autoscale.reasons import PoolReason
from core.autoscale.selectors import Selector
from core.backoff import Backoff
from core.spec import PoolSpec


@dataclass(frozen=True, slots=True)
class Options:
    """What holds for all pools. The numbers are the defaults of Cluster Autoscaler 1.36."""

    priority_cutoff: int = -10
    delay_after_add: timedelta = timedelta(minutes=10)
    delay_after_failure: timedelta = timedelta(minutes=3)
    delay_after_delete: timedelta = timedelta(0)
    empty_at_once: int = 10
    min_replicas: int = 0
    system_pod_age: timedelta = timedelta(hours=1)
    ok_unready: int = 3
    max_unready_share: float = 0.45
    startup: timedelta = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool. `target` is its size without the servers being removed, whose nodes' names are in `leaving`.

    Of the target, `booting` servers exist and are no ready node yet, and `missing` ones are still to be created.
    `frozen`: the cloud refuses its token, so nothing can be created or deleted.
    """

    spec: PoolSpec
    template: Node
    target: int
    booting: int = 0
    missing: int = 0
    backoff: Backoff | None = None
    leaving: frozenset[str] = frozenset()
    frozen: bool = False

    def held_back(self, now: datetime) -> PoolReason | None:
        """Why it gets no server at `now`, whatever is missing."""
        if self.spec.paused:
            return PoolReason.PAUSED
        if self.frozen:
            return PoolReason.FROZEN
        return PoolReason.IN_BACKOFF if self.backoff and not self.backoff.open(now) else None

    def upcoming(self, now: datetime) -> int:
        """How many nodes may be counted on before they are there: a server that cannot be created is none."""
        return self.booting + (0 if self.held_back(now) else self.missing)


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget: the pods it means, and how many of them may be disrupted now."""

    name: str
    selector: Selector
    allowed: int


@dataclass(frozen=True, slots=True)
class Past:
    """What the last decisions led to: when, and since when each unneeded node has been one without a break."""

    added: datetime | None = None
    failed: datetime | None = None
    deleted: datetime | None = None
    unneeded: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cluster:
    """One look at a cluster. `controllers` has the wanted replicas of each that exists, by kind/namespace/name."""

    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    pools: tuple[Pool, ...]
    daemons: tuple[Pod, ...] = ()
    budgets: tuple[Budget, ...] = ()
    controllers: Mapping[str, int] = field(default_factory=dict)
    past: Past = field(default_factory=Past)
    options: Options = field(default_factory=Options)
