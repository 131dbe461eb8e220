"""A pool as one that may grow: which of the waiting pods a new node of it would hold, and in words why or why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from core.autoscale.board import Board
from core.autoscale.cluster import Pool
from core.autoscale.fit import Misfit, node_misfit, room_misfit
from core.autoscale.groups import Group, Kinds, Signature
from core.autoscale.pack import Packing
from core.autoscale.pods import HOSTNAME
from core.autoscale.quantities import shown
from core.autoscale.reasons import FitReason, PoolReason
from core.autoscale.rooms import Room
from core.autoscale.verdicts import Resize
from core.autoscale.words import counted


@dataclass(slots=True)
class Candidate:
    """A pool with an empty node of it, how many it may add, and why it may not.

    `fitting` and `misfits` go by the numbers of groups; `added` servers hold `pods`, and `notes` say how.
    """

    pool: Pool
    empty: Room
    room: int
    skip: PoolReason | None
    misfits: dict[int, Misfit] = field(default_factory=dict)
    fitting: list[int] = field(default_factory=list)
    added: int = 0
    pods: int = 0
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, pool: Pool, board: Board, now: datetime) -> Candidate:
        """The pool before anything is decided."""
        skip = pool.held_back(now)
        if skip is None and pool.target >= pool.spec.max:
            skip = PoolReason.MAX_SIZE
        return cls(pool, board.empty(pool.template), pool.spec.max - pool.target, skip)

    @property
    def name(self) -> str:
        """The pool's name."""
        return self.pool.spec.name

    def match(self, groups: Mapping[int, Group], kinds: Kinds) -> None:
        """Find the groups of which an empty node would hold a pod."""
        by_node: dict[Signature, Misfit | None] = {}
        for number, group in groups.items():
            if group.signature not in by_node:
                by_node[group.signature] = node_misfit(group.pod, self.empty.node)
            misfit = by_node[group.signature] or room_misfit(group.pod, group.kind, self.empty, kinds)
            if misfit is None and group.pod.spreads and HOSTNAME not in self.empty.node.labels:
                misfit = Misfit(FitReason.SPREAD, f"its nodes have no label {HOSTNAME}")
            if misfit:
                self.misfits[number] = misfit
            else:
                self.fitting.append(number)

    def shape(self) -> Signature:
        """All that packing looks at: what an empty node has, and which groups it would hold."""
        empty = self.empty
        return (
            tuple(sorted(empty.node.allocatable.items())),
            tuple(sorted(empty.free.items())),
            tuple(sorted(empty.kinds.items())),
            frozenset(empty.ports.items()),
            frozenset(empty.apart.items()),
            tuple(self.fitting),
        )

    def note(self, packing: Packing, wasted: float, others: Sequence[tuple[float, str]]) -> None:
        """Say how it was found to be the one that wastes least, before `others`."""
        parts = [
            f"{name} {shown(name, asked)} is asked and each has {shown(name, self.empty.free.get(name, 0))} free"
            for name, asked in packing.asked.items()
        ]
        second = f", {others[0][1]} would waste {others[0][0] / 2:.0%}" if others else ""
        self.notes.append(f"{', '.join(parts)}; {wasted / 2:.0%} would be wasted{second}")

    def grown(self) -> Resize | None:
        """Its new size, if it grows."""
        if not self.added:
            return None
        notes = "; ".join(self.notes)
        message = f"{counted(self.added, 'server')} for {counted(self.pods, 'pod')}: {notes}"
        return Resize(self.name, self.added, self.pool.target + self.added, message)

    def why_not(self, number: int) -> str:
        """Why it gets no server for what is left of a group."""
        pool, misfit = self.pool, self.misfits.get(number)
        if misfit:
            return f"pool {self.name}, a new node: {misfit.message}"
        if self.skip is PoolReason.PAUSED:
            return f"pool {self.name} would hold it and is paused"
        if self.skip is PoolReason.FROZEN:
            return f"pool {self.name} would hold it, and the cloud refuses its token"
        if self.skip is PoolReason.IN_BACKOFF and pool.backoff:
            return f"pool {self.name} would hold it and is in backoff: {pool.backoff.message}"
        most = counted(pool.spec.max, "server")
        return f"pool {self.name} would hold it and has {pool.target + self.added} of at most {most}"
