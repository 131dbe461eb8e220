"""One whole decision. `decide` is pure and total, and the order of what it is given changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from core.autoscale.board import Board
from core.autoscale.cluster import Cluster
from core.autoscale.scale_down import ScaleDown
from core.autoscale.scale_up import ScaleUp
from core.autoscale.unhealthy import nodes_held, pods_held, unhealthy
from core.autoscale.verdicts import NodeVerdict, PodVerdict, Resize


@dataclass(frozen=True, slots=True)
class Decision:
    """Sizes to set, nodes to remove, what is said of each pod and node, and `unneeded` for the next decision."""

    sizes: tuple[Resize, ...]
    removals: tuple[str, ...]
    pods: tuple[PodVerdict, ...]
    nodes: tuple[NodeVerdict, ...]
    unneeded: Mapping[str, datetime]


def decide(cluster: Cluster, now: datetime) -> Decision:
    """Decide what changes at `now`: growth first, then which nodes the pods that then have a place leave unneeded."""
    why = unhealthy(cluster, now)
    if why:
        return Decision((), (), pods_held(cluster, why), nodes_held(cluster, why), {})
    board = Board(cluster, now)
    up = ScaleUp(cluster, board, now)
    down = ScaleDown(cluster, board, now, growing=any(size.count > 0 for size in up.sizes))
    return Decision(up.sizes, down.removals, tuple(up.pods), tuple(down.nodes), down.unneeded)
