"""Putting equal pods on nodes, first fit, many at once where nothing but room counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.autoscale.fit import affinity_misfit, how_many, taints_tolerated
from core.autoscale.groups import Kinds
from core.autoscale.pods import HOSTNAME, Pod, Spread
from core.autoscale.quantities import CPU, MEMORY
from core.autoscale.rooms import Room

Placed = list[tuple[Room, int]]


class Domains:
    """How many selected pods each node holds, for one hostname spread of one kind of pod."""

    __slots__ = ("_counts", "_nodes", "_own", "_selected", "_spread")

    def __init__(self, spread: Spread, kind: int, kinds: Kinds) -> None:
        self._spread = spread
        self._selected = kinds.selected(spread.selector)
        self._own = int(kind in self._selected)
        self._counts: dict[Room, int] = {}
        self._nodes: dict[int, int] = {}  # how many nodes hold that many: its least key is the floor

    def fork(self) -> Domains:
        """The same nodes for a trial in which only nodes that are opened later take pods."""
        other = Domains.__new__(Domains)
        other._spread, other._selected, other._own = self._spread, self._selected, self._own
        other._counts, other._nodes = {}, dict(self._nodes)
        return other

    def open(self, rooms: Sequence[Room]) -> None:
        """Count nodes."""
        if len(self._selected) == 1:
            (kind,) = self._selected
            counts = [room.kinds.get(kind, 0) for room in rooms]
        else:
            counts = [room.holding(self._selected) for room in rooms]
        self._counts.update(zip(rooms, counts, strict=True))
        for count, nodes in Counter(counts).items():
            self._step(count, nodes)

    @property
    def floor(self) -> int:
        """The fewest selected pods on any node; none while there are fewer nodes than the spread wants."""
        enough = sum(self._nodes.values()) >= self._spread.min_domains
        return min(self._nodes) if enough and self._nodes else 0

    def allows(self, room: Room) -> bool:
        """Whether one more pod may go there."""
        return self._counts.get(room, 0) + self._own - self.floor <= self._spread.skew

    def take(self, room: Room) -> None:
        """One more pod goes there."""
        if not self._own or room not in self._counts:
            return
        before = self._counts[room]
        self._counts[room] = before + 1
        self._step(before, -1)
        self._step(before + 1, 1)

    def _step(self, count: int, nodes: int) -> None:
        self._nodes[count] = self._nodes.get(count, 0) + nodes
        if not self._nodes[count]:
            del self._nodes[count]


def is_domain(spread: Spread, pod: Pod, room: Room) -> bool:
    """Whether a node counts in a spread of the pod: whether the pod could go there by its own wishes."""
    if HOSTNAME not in room.node.labels or (spread.honor_taints and not taints_tolerated(pod, room.node)):
        return False
    return not spread.honor_affinity or affinity_misfit(pod, room.node) is None


@dataclass(frozen=True, slots=True)
class Placing:
    """Equal pods about to be placed."""

    pod: Pod
    kind: int
    kinds: Kinds
    domains: list[Domains]

    def fill(self, rooms: Iterable[Room], count: int) -> Placed:
        """Place up to `count` pods, first fit in the order of `rooms`; they are taken from the rooms."""
        placed: Placed = []
        for room in self._roomy(rooms):
            fitting = min(count, how_many(self.pod, self.kind, room, self.kinds))
            if fitting:
                room.take(self.pod, self.kind, fitting)
                placed.append((room, fitting))
                count -= fitting
                if not count:
                    break
        return placed

    def fill_spread(self, rooms: Iterable[Room], count: int) -> Placed:
        """The same under spreads: a node that is filled may raise the floor, which opens the others again."""
        placed: Placed = []
        candidates = [room for room in self._roomy(rooms) if HOSTNAME in room.node.labels]
        progress = True
        while count and progress:
            progress = False
            left = []
            for room in candidates:
                fitting = min(count, how_many(self.pod, self.kind, room, self.kinds))
                if not count:
                    break
                if not fitting:
                    continue
                added = self._spread_on(room, fitting)
                if added:
                    progress = True
                    placed.append((room, added))
                    count -= added
                left.append(room)
            candidates = left
        return placed

    def place(self, rooms: Iterable[Room], count: int) -> Placed:
        """Place up to `count` pods by the pod's rules."""
        return self.fill_spread(rooms, count) if self.domains else self.fill(rooms, count)

    def _roomy(self, rooms: Iterable[Room]) -> Iterable[Room]:
        """Those with enough cpu and memory: most nodes of a cluster in want of servers fail this quickest test."""
        requests = dict(self.pod.requests)
        cpu, memory = requests.get(CPU, 0), requests.get(MEMORY, 0)
        for room in rooms:
            free = room.free
            if free.get(CPU, 0) >= cpu and free.get(MEMORY, 0) >= memory:
                yield room

    def _spread_on(self, room: Room, most: int) -> int:
        added = 0
        while added < most and all(domains.allows(room) for domains in self.domains):
            for domains in self.domains:
                domains.take(room)
            added += 1
        if added:
            room.take(self.pod, self.kind, added)
        return added
