"""Moving the pods of a node in thought: whether each may move, and whether all find room on nodes that stay."""

from __future__ import annotations

from datetime import datetime

from core.autoscale.board import Board
from core.autoscale.cluster import Cluster
from core.autoscale.drainable import block, moves
from core.autoscale.groups import Group, grouped
from core.autoscale.pack import rank
from core.autoscale.placing import Placed
from core.autoscale.pods import Pod
from core.autoscale.quantities import shown
from core.autoscale.reasons import NodeReason
from core.autoscale.rooms import Room

Why = tuple[NodeReason, str, str]  # a reason, a sentence, and the pod that it is about, if any


class Mover:
    """Moves pods on a board. What it moved takes room from then on; what it could not move is where it was."""

    def __init__(self, cluster: Cluster, board: Board, now: datetime) -> None:
        self._cluster, self._board, self._now = cluster, board, now

    def pods_of(self, room: Room) -> list[Pod]:
        """The pods that must find another node when this one goes."""
        return [pod for pod in self._board.on_node[room.name] if moves(pod, self._now)]

    def clear(self, room: Room) -> Why | None:
        """Move all that must move off a node to nodes that are not closed, or say why that cannot be."""
        pods = self.pods_of(room)
        return self._held(pods) or self._move(room, pods)

    def _held(self, pods: list[Pod]) -> Why | None:
        for pod in pods:
            found = block(pod, self._cluster, self._now)
            if found:
                return NodeReason.BLOCKED, f"{pod.key}, {found.reason}: {found.message}", pod.key
        for pod in pods:
            kind = self._board.kinds.of(pod)
            rules = pod.unsupported or (
                ("another pod's anti-affinity to it",) if self._board.kinds.repelled(kind) else ()
            )
            if rules:
                return NodeReason.UNSUPPORTED, f"{pod.key} has what cannot be evaluated: {', '.join(rules)}", pod.key
        return None

    def _move(self, origin: Room, pods: list[Pod]) -> Why | None:
        """Move pods to nodes that stay. The node goes on counting in their spreads, as it does until it is gone."""
        kinds = self._board.kinds
        groups = sorted(grouped(pods, kinds), key=lambda g: (*rank(g, origin.node.allocatable), g.pod.key))
        done: list[tuple[Group, Placed]] = []
        for group in groups:
            origin.take(group.pod, group.kind, -len(group.pods))
        for group in groups:
            rooms = (room for room in self._board.allowed(group.pod) if not room.closed and room is not origin)
            placed = self._board.placing(group).place(rooms, len(group.pods))
            done.append((group, placed))
            held = sum(count for _, count in placed)
            if held < len(group.pods):
                _undo(origin, groups, done)
                pod = group.pods[held]
                asks = ", ".join(f"{name} {shown(name, amount)}" for name, amount in pod.requests)
                return NodeReason.NO_PLACE, f"{pod.key} fits no other node that stays; it asks for {asks}", pod.key
        for group, placed in done:
            rooms_of_pods = (room for room, count in placed for _ in range(count))
            for pod, room in zip(group.pods, rooms_of_pods, strict=True):
                self._board.on_node[room.name].append(pod)
        return None


def _undo(origin: Room, groups: list[Group], done: list[tuple[Group, Placed]]) -> None:
    for group, placed in done:
        for room, count in placed:
            room.take(group.pod, group.kind, -count)
    for group in groups:
        origin.take(group.pod, group.kind, len(group.pods))
