"""A second look at a node that is about to go: something may have come to it since that was decided."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from core.autoscale.board import Board
from core.autoscale.cluster import Cluster
from core.autoscale.moving import Mover
from core.autoscale.nodes import Node
from core.autoscale.reasons import NodeReason
from core.autoscale.scale_up import ScaleUp
from core.node_keys import TO_BE_DELETED


def recheck(cluster: Cluster, node: str, empty: bool, now: datetime) -> str:
    """Why the node must stay; '' when it may go. It is cordoned and tainted by then, which keeps nothing here.

    `empty`: it is to go as one that nothing must move from. How much it is used, for how long it was unneeded and how
    large its pool is has been decided. As in a decision, the pods that wait have their place first.
    """
    pools = tuple(replace(pool, leaving=pool.leaving - {node}) for pool in cluster.pools)
    cluster = replace(cluster, pools=pools)
    board = Board(cluster, now)
    room = board.by_node.get(node)
    if room is None:
        return ""
    if room.node.scale_down_disabled:
        return NodeReason.DISABLED.meaning
    room.closed = True
    for other in board.by_node.values():
        other.closed = other.closed or _goes(other.node)
    mover = Mover(cluster, board, now)
    landed = mover.pods_of(room)
    if empty and landed:
        more = f" and {len(landed) - 1} more" if len(landed) > 1 else ""
        return f"{landed[0].key}{more} came to it since it was found empty"
    ScaleUp(cluster, board, now)
    why = mover.clear(room)
    return why[1] if why else ""


def _goes(node: Node) -> bool:
    """Whether a node takes no pods, not even those that tolerate its cordon: it is on its way out, or soon may be."""
    return node.unschedulable or node.operated or any(taint.key == TO_BE_DELETED for taint in node.taints)
