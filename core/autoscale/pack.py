"""How many new nodes of one pool hold which of the waiting pods: first fit decreasing, group by group.

Source: upstream's binpacking estimator. The largest groups go first, by their share of a node's cpu and memory;
each fills the nodes opened so far before another is opened. Unlike there, a higher priority comes before size: where
the pool's max ends the packing, who is left out should be who the scheduler would leave out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core.autoscale.groups import Group, Kinds
from core.autoscale.nodes import Node
from core.autoscale.placing import Domains, Placed, Placing
from core.autoscale.quantities import CPU, MEMORY
from core.autoscale.rooms import Room


@dataclass(slots=True)
class Packing:
    """New nodes, by each group's number what they hold of it, and what that asks for of cpu and memory."""

    rooms: list[Room] = field(default_factory=list)
    placed: dict[int, Placed] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=lambda: {CPU: 0, MEMORY: 0})

    def add(self, number: int, group: Group, placed: Placed) -> None:
        """Note what is placed of a group."""
        self.placed[number] = placed
        count = sum(held for _, held in placed)
        for resource, amount in group.pod.requests:
            if resource in self.asked:
                self.asked[resource] += amount * count


@dataclass(frozen=True, slots=True)
class Wanted:
    """`count` pods of a group that still wait, and the domains of their spreads on the nodes that exist."""

    number: int
    group: Group
    count: int
    domains: list[Domains]


def pack(wanted: Sequence[Wanted], empty: Room, most: int, kinds: Kinds) -> Packing:
    """Pack `wanted` on at most `most` copies of `empty`, each of which takes at least one pod of every group."""
    packing = Packing()
    order = decreasing(wanted, empty.node)
    least = _least_to_come(order)
    usable: list[Room] = []
    crowd = 16
    for want, (cpu, memory) in zip(order, least, strict=True):
        # What is too full for everything to come need not be looked at again. Looking for such rooms whenever their
        # number has doubled costs next to nothing.
        if len(usable) > crowd:
            usable = [room for room in usable if room.free.get(CPU, 0) >= cpu and room.free.get(MEMORY, 0) >= memory]
            crowd = max(16, 2 * len(usable))
        placed = _pack_group(want, empty, most, kinds, rooms=packing.rooms, usable=usable)
        if placed:
            packing.add(want.number, want.group, placed)
    return packing


def decreasing(wanted: Sequence[Wanted], node: Node) -> list[Wanted]:
    """The order to pack in: by priority, because the scheduler goes by it, then the share of a node, then name."""
    return sorted(wanted, key=lambda want: (*rank(want.group, node.allocatable), want.group.pod.key))


def rank(group: Group, room: Mapping[str, int]) -> tuple[int, float]:
    """Priority and size of a group's pods against some room; the highest and largest come first."""
    requests = dict(group.pod.requests)
    share = sum(requests.get(resource, 0) / max(1, room.get(resource, 0)) for resource in (CPU, MEMORY))
    return -group.pod.priority, -share


def waste(packing: Packing, node: Node) -> float:
    """The shares of cpu and memory capacity that the new nodes' pods leave unused, added: upstream's least-waste."""
    total = 0.0
    for resource, asked in packing.asked.items():
        offered = node.capacity.get(resource, 0) * len(packing.rooms)
        total += (offered - asked) / offered if offered else 0.0
    return total


def _pack_group(want: Wanted, empty: Room, most: int, kinds: Kinds, *, rooms: list[Room], usable: list[Room]) -> Placed:
    domains = [base.fork() for base in want.domains]
    for domain in domains:
        domain.open(rooms)
    placing = Placing(want.group.pod, want.group.kind, kinds, domains)
    placed = placing.place(usable, want.count)
    left = want.count - sum(count for _, count in placed)
    while left and len(rooms) < most:
        floors = [domain.floor for domain in domains]
        room = empty.copy("")
        for domain in domains:
            domain.open([room])
        added = placing.place([room], left)
        if not added:
            break
        rooms.append(room)
        usable.append(room)
        left -= sum(count for _, count in added)
        if left and floors != [domain.floor for domain in domains]:
            again = placing.place(usable, left)
            left -= sum(count for _, count in again)
            added += again
        placed += added
    return placed


def _least_to_come(order: Sequence[Wanted]) -> list[tuple[int, int]]:
    """For each place in the order, the smallest cpu and the smallest memory asked for from there on."""
    least: list[tuple[int, int]] = []
    for want in reversed(order):
        requests = dict(want.group.pod.requests)
        cpu, memory = requests.get(CPU, 0), requests.get(MEMORY, 0)
        least.append((min(cpu, least[-1][0]), min(memory, least[-1][1])) if least else (cpu, memory))
    return least[::-1]
