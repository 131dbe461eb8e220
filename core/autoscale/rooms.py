"""A node with what is left of it while a decision is being thought through."""

from __future__ import annotations

from collections import Counter

from core.autoscale.nodes import Node
from core.autoscale.pods import VOLUME_DRIVER, VOLUME_SLOTS, Pod, Port
from core.autoscale.selectors import Selector
from core.autoscale.template import VOLUMES_PER_SERVER


class Room:
    """A node, what is free on it, and which kinds of pods are there. `closed` ones take no more pods."""

    __slots__ = ("apart", "closed", "free", "kinds", "name", "node", "ports")

    def __init__(self, node: Node, name: str = "", *, closed: bool = False) -> None:
        self.node = node
        self.name = name or node.name
        self.closed = closed
        self.free = dict(node.allocatable)
        # A node's object does not tell how many volumes it takes.
        self.free.setdefault(VOLUME_SLOTS, VOLUMES_PER_SERVER if f"{VOLUME_DRIVER}/location" in node.labels else 0)
        self.ports: Counter[Port] = Counter()
        self.kinds: dict[int, int] = {}
        self.apart: Counter[Selector] = Counter()

    def copy(self, name: str) -> Room:
        """A room with the same in it."""
        room = Room.__new__(Room)
        room.node, room.name, room.closed = self.node, name, self.closed
        room.free, room.kinds = dict(self.free), dict(self.kinds)
        room.ports, room.apart = Counter(self.ports), Counter(self.apart)
        return room

    def take(self, pod: Pod, kind: int, count: int = 1) -> None:
        """Put `count` such pods in; a negative one takes them out."""
        free = self.free
        for resource, amount in pod.requests:
            free[resource] = free.get(resource, 0) - amount * count
        self.kinds[kind] = self.kinds.get(kind, 0) + count
        for port in pod.ports:
            self.ports[port] += count
        for selector in pod.apart:
            self.apart[selector] += count

    def holding(self, kinds: set[int]) -> int:
        """How many pods of these kinds are there."""
        return sum(count for kind, count in self.kinds.items() if kind in kinds)

    def port_clash(self, pod: Pod) -> Port | None:
        """A port of the pod that is taken. An address of 0.0.0.0 is every address."""
        for address, protocol, number in pod.ports:
            for (other, other_protocol, other_number), count in self.ports.items():
                same = address == other or "0.0.0.0" in (address, other)
                if count > 0 and same and (protocol, number) == (other_protocol, other_number):
                    return address, protocol, number
        return None
