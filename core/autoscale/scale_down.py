"""Which nodes are no longer needed, and which of them go now.

A node is unneeded when little of it is asked for and each of its pods may move and has room on a node that stays.
It goes once it has been so without a break for long enough: empty nodes together, others one at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from core.autoscale.board import Board
from core.autoscale.cluster import Cluster, Pool
from core.autoscale.drainable import lingers, minutes
from core.autoscale.moving import Mover, Why
from core.autoscale.nodes import Node
from core.autoscale.quantities import CPU, MEMORY, shown
from core.autoscale.reasons import NodeReason
from core.autoscale.rooms import Room
from core.autoscale.verdicts import NodeVerdict
from core.autoscale.words import counted


class ScaleDown:
    """One decision about shrinking, on a board on which the waiting pods have been placed.

    `growing` says that the same decision adds servers, which is an addition just now.
    """

    def __init__(self, cluster: Cluster, board: Board, now: datetime, *, growing: bool) -> None:
        self.nodes: list[NodeVerdict] = []
        self.unneeded: dict[str, datetime] = {}
        self._cluster, self._board, self._now = cluster, board, now
        self._mover = Mover(cluster, board, now)
        self._pools = {pool.spec.name: pool for pool in cluster.pools}
        self._spare = {name: pool.target - pool.spec.min for name, pool in self._pools.items()}
        self._use = {name: self._used(name) for name in board.by_node}
        # Empty nodes first, so that no pod is moved there; then those that have been unneeded longest, so that the
        # same nodes stay unneeded from one decision to the next.
        ours = sorted((room for room in board.by_node.values() if room.node.pool in self._pools), key=self._turn)
        # Pods move to nodes that are used enough, then to those that are looked at last: to others they would move
        # only to be moved again.
        idle = [
            room for room in ours if self._use[room.name][0] < self._pools[room.node.pool].spec.scale_down_threshold
        ]
        used = dict.fromkeys(board.by_node.values())
        for room in idle:
            del used[room]
        board.prefer([*used, *reversed(idle)])
        for room in ours:
            why = self._stays(room)
            if why:
                self._say(room.node, *why)
            else:
                self.unneeded[room.name] = cluster.past.unneeded.get(room.name, now)
        self._choose(growing)
        self.nodes.sort(key=lambda verdict: verdict.node)

    @property
    def removals(self) -> tuple[str, ...]:
        """The nodes to remove now, by name."""
        going = (NodeReason.REMOVED_EMPTY, NodeReason.REMOVED_DRAINED)
        return tuple(verdict.node for verdict in self.nodes if verdict.reason in going)

    def _turn(self, room: Room) -> tuple[bool, float, float, str]:
        since = self._cluster.past.unneeded.get(room.name, self._now)
        return bool(self._mover.pods_of(room)), since.timestamp(), self._use[room.name][0], room.name

    def _used(self, name: str) -> tuple[float, str]:
        """The larger share of cpu and memory that is asked for, DaemonSets' and static pods counted, in words too."""
        pods = [pod for pod in self._board.on_node[name] if not lingers(pod, self._now)]
        asked: Counter[str] = Counter()
        for pod in pods:
            asked.update(dict(pod.requests))
        shares = []
        for resource in (CPU, MEMORY):
            total = self._board.by_node[name].node.allocatable.get(resource, 0)
            if total:
                share = asked[resource] / total
                words = f"{resource} {shown(resource, asked[resource])} of {shown(resource, total)} is asked for"
                shares.append((share, f"{words}, {share:.0%}"))
        return max(shares, default=(0.0, "nothing is known of its size"), key=lambda share: share[0])

    def _stays(self, room: Room) -> Why | None:
        """Why the node stays; None when it is unneeded, and its pods have been moved in thought."""
        pool, pods = self._pools[room.node.pool], self._mover.pods_of(room)
        why = _untouchable(room.node, pool)
        if why:
            return why
        if self._spare[pool.spec.name] <= 0:
            size, low = pool.target, pool.spec.min
            return NodeReason.MIN_SIZE, f"the pool has {counted(size, 'server')}, of which it keeps at least {low}", ""
        if room.node.unschedulable and pods:
            return NodeReason.CORDONED, f"it is cordoned and {counted(len(pods), 'pod')} on it would have to move", ""
        share, words = self._use[room.name]
        if share >= pool.spec.scale_down_threshold:
            limit = f"which is not below {pool.spec.scale_down_threshold:.0%}"
            return NodeReason.NOT_UNDERUTILIZED, f"{words}, {limit}", ""
        why = self._mover.clear(room)
        if why is None:
            room.closed = True
            self._spare[pool.spec.name] -= 1
        return why

    def _choose(self, growing: bool) -> None:
        """Of the unneeded nodes, say which go: empty ones up to a number, else one, when nothing else is going."""
        leaving = sum(len(pool.leaving) for pool in self._pools.values())
        free = self._cluster.options.empty_at_once - leaving
        cooldown = self._cooldown(growing)
        gone = 0
        for name, since in self.unneeded.items():
            room = self._board.by_node[name]
            pods, after = self._mover.pods_of(room), self._pools[room.node.pool].spec.scale_down_after
            time = f"unneeded for {minutes(self._now - since)} of {minutes(after)}"
            words = f"{self._use[name][1]}; {time}"
            if self._now - since < after:
                self._say(room.node, NodeReason.NOT_LONG_ENOUGH, words)
            elif cooldown:
                self._say(room.node, NodeReason.IN_COOLDOWN, f"{words}; {cooldown}")
            elif gone >= free or (pods and leaving + gone):
                self._say(room.node, NodeReason.WAITS_ITS_TURN, f"{words}; {counted(leaving + gone, 'other')} first")
            elif pods:
                self._say(room.node, NodeReason.REMOVED_DRAINED, f"{words}; its pods ({len(pods)}) have room elsewhere")
                gone += 1
            else:
                self._say(room.node, NodeReason.REMOVED_EMPTY, f"{words}; nothing on it must move")
                gone += 1

    def _cooldown(self, growing: bool) -> str:
        past, options = self._cluster.past, self._cluster.options
        if growing:
            return "servers are being added"
        waits = (
            ("added", past.added, options.delay_after_add),
            ("removed", past.deleted, options.delay_after_delete),
            ("failed to be removed", past.failed, options.delay_after_failure),
        )
        for what, at, delay in waits:
            if at is not None and self._now < at + delay:
                return f"a node was {what} {minutes(self._now - at)} ago, and {minutes(delay)} must pass"
        return ""

    def _say(self, node: Node, reason: NodeReason, message: str, pod: str = "") -> None:
        self.nodes.append(NodeVerdict(node.name, node.pool, reason, message, pod))


def _untouchable(node: Node, pool: Pool) -> Why | None:
    checks: Iterable[tuple[bool, NodeReason]] = (
        (node.name in pool.leaving, NodeReason.BEING_DELETED),
        (node.scale_down_disabled, NodeReason.DISABLED),
        (pool.spec.paused, NodeReason.PAUSED),
        (pool.frozen, NodeReason.FROZEN),
        (node.operated, NodeReason.IN_OPERATION),
        (not node.ready, NodeReason.NOT_READY),
    )
    return next(((reason, reason.meaning, "") for holds, reason in checks if holds), None)
