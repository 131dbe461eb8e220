"""Which pools get servers for the pods that wait.

Pods that a node or a server on its way will hold are left to the scheduler. For the rest, the pool that wastes
least is grown first, then the next one for what is left, until nothing is left that a pool would hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from core.autoscale.board import Board
from core.autoscale.candidate import Candidate
from core.autoscale.cluster import Cluster
from core.autoscale.fit import node_misfit, room_misfit
from core.autoscale.groups import Group, Signature, grouped
from core.autoscale.pack import Packing, Wanted, decreasing, pack, rank, waste
from core.autoscale.placing import Domains, Placed
from core.autoscale.pods import Pod
from core.autoscale.quantities import CPU, MEMORY
from core.autoscale.reasons import PodReason, PoolReason
from core.autoscale.rooms import Room
from core.autoscale.verdicts import PodVerdict, Resize
from core.autoscale.words import counted

NAMED = 5  # pools that a sentence goes through; with fifty of them it would not be read


class ScaleUp:
    """One decision about growth. It takes the room that pods are placed in from the board."""

    def __init__(self, cluster: Cluster, board: Board, now: datetime) -> None:
        self.pods: list[PodVerdict] = []
        self._board = board
        self._cluster = cluster
        self._groups: dict[int, Group] = {}
        self._left: dict[int, int] = {}
        self._packed: dict[tuple[Signature, int], Packing] = {}
        self._spread: dict[int, list[Domains]] = {}
        pools = sorted(cluster.pools, key=lambda pool: pool.spec.name)
        self._candidates = [Candidate.of(pool, board, now) for pool in pools]
        for pod in cluster.pods:
            self._seat_daemon(pod)
        self._sort_out()
        for candidate in self._candidates:
            candidate.match(self._groups, board.kinds)
        self._shapes = {candidate.name: candidate.shape() for candidate in self._candidates}
        self._fill_upcoming()
        self._grow()
        for number in self._groups:
            self._reject(number)
        self.pods.sort(key=lambda verdict: verdict.pod)

    @property
    def sizes(self) -> tuple[Resize, ...]:
        """The pools whose size changes, by name."""
        changes = (candidate.grown() or self._withdrawn(candidate) for candidate in self._candidates)
        return tuple(change for change in changes if change)

    def _withdrawn(self, candidate: Candidate) -> Resize | None:
        """What a pool in backoff could not create is given up once no pod waits for it, or it would come too late."""
        pool = candidate.pool
        if candidate.skip is not PoolReason.IN_BACKOFF or any(self._left[number] for number in candidate.fitting):
            return None
        count = min(pool.missing, pool.target - pool.spec.min)
        if count <= 0:
            return None
        message = f"{counted(count, 'server')} could not be created and no pod waits for them any more"
        return Resize(candidate.name, -count, pool.target - count, message)

    def _seat_daemon(self, pod: Pod) -> None:
        """A DaemonSet's pod that waits is bound for one node by its name: what it needs there is spoken for."""
        if not (pod.daemon and not pod.node and self._board.counts(pod) and pod.affinity):
            return
        names = {value for term in pod.affinity for need in term.fields for value in need.values}
        kind = self._board.kinds.of(pod)
        for name in sorted(names):
            room = self._board.by_node.get(name)
            if room and not node_misfit(pod, room.node) and not room_misfit(pod, kind, room, self._board.kinds):
                room.take(pod, kind)

    def _sort_out(self) -> None:
        """Say what need not or cannot be decided, and place what fits on the nodes that exist or come."""
        waiting = [pod for pod in self._cluster.pods if self._waits(pod)]
        asking: list[Pod] = []
        for pod in waiting:
            verdict = self._aside(pod)
            if verdict:
                self.pods.append(verdict)
            else:
                asking.append(pod)
        rooms = self._board.by_node.values()
        total = {name: sum(room.node.allocatable.get(name, 0) for room in rooms) for name in (CPU, MEMORY)}
        groups = sorted(grouped(asking, self._board.kinds), key=lambda group: (*rank(group, total), group.pod.key))
        for number, group in enumerate(groups):
            self._groups[number], self._left[number] = group, len(group.pods)
            self._leave_to_scheduler(number, self._board.allowed(group.pod), PodReason.FITS_EXISTING)
        for number in [number for number, left in self._left.items() if not left]:
            del self._groups[number], self._left[number]

    def _waits(self, pod: Pod) -> bool:
        """Pods that the scheduler found no node for, and those of nodes that are being removed, which will be."""
        if pod.finished or pod.deleted or pod.mirror:
            return False
        if pod.node:
            room = self._board.by_node.get(pod.node)
            leaving = any(pod.node in pool.leaving for pool in self._cluster.pools)
            return leaving and room is not None and not pod.daemon and self._board.counts(pod)
        return pod.unschedulable

    def _aside(self, pod: Pod) -> PodVerdict | None:
        cutoff = self._cluster.options.priority_cutoff
        if pod.daemon:
            message = "a DaemonSet's pod waits for room on its own node, which no other node gives"
            return PodVerdict(pod.key, PodReason.DAEMON, message)
        if pod.nominated in self._board.by_node:
            message = f"the scheduler is making room for it on {pod.nominated}"
            return PodVerdict(pod.key, PodReason.NOMINATED, message, node=pod.nominated)
        if pod.priority < cutoff:
            message = f"its priority {pod.priority} is below {cutoff}: it waits for room that others leave"
            return PodVerdict(pod.key, PodReason.EXPENDABLE, message)
        rules = list(pod.unsupported)
        if self._board.kinds.repelled(self._board.kinds.of(pod)):
            rules.append("another pod's anti-affinity to it by a topology other than the hostname")
        if rules:
            message = f"cannot be evaluated, so nothing is bought for it: {', '.join(rules)}"
            return PodVerdict(pod.key, PodReason.UNSUPPORTED, message)
        return None

    def _fill_upcoming(self) -> None:
        """Place pods on servers that are on their way, pool by pool as if these were bought now.

        What was bought for some pods is so found to be enough for them as long as nothing else changes.
        """
        coming = [candidate for candidate in self._candidates if self._board.upcoming[candidate.name]]
        while coming:
            options = []
            for candidate in coming:
                most = len(self._board.upcoming[candidate.name])
                packing = pack(self._wanted(candidate), candidate.empty, most, self._board.kinds)
                options.append((waste(packing, candidate.empty.node), candidate.name, candidate))
            _, _, chosen = min(options, key=lambda option: option[:2])
            coming.remove(chosen)
            rooms = self._board.upcoming[chosen.name]
            for want in decreasing(self._wanted(chosen), chosen.empty.node):
                self._leave_to_scheduler(want.number, rooms, PodReason.FITS_UPCOMING)
            self._spread.clear()

    def _leave_to_scheduler(self, number: int, rooms: Iterable[Room], reason: PodReason) -> None:
        group = self._groups[number]
        placed = self._board.placing(group).place(rooms, self._left[number])
        for pod, room in self._take(number, placed):
            if room.name in self._board.on_node:
                self._board.on_node[room.name].append(pod)
            message = f"{room.name} has room for it"
            self.pods.append(PodVerdict(pod.key, reason, message, room.node.pool, room.name))

    def _take(self, number: int, placed: Placed) -> list[tuple[Pod, Room]]:
        """Take the next pods of a group as placed, and say which goes where."""
        group = self._groups[number]
        first = len(group.pods) - self._left[number]
        rooms = [room for room, count in placed for _ in range(count)]
        self._left[number] -= len(rooms)
        return list(zip(group.pods[first:], rooms, strict=False))

    def _wanted(self, candidate: Candidate) -> list[Wanted]:
        return [
            Wanted(number, self._groups[number], self._left[number], self._domains(number))
            for number in candidate.fitting
            if self._left[number]
        ]

    def _grow(self) -> None:
        while True:
            options = []
            for candidate in self._candidates:
                packing = self._packing(candidate)
                if packing and packing.rooms:
                    wasted = waste(packing, candidate.empty.node)
                    options.append((wasted, candidate.name, candidate, packing))
            if not options:
                return
            wasted, _, chosen, packing = min(options, key=lambda option: option[:2])
            others = sorted((w, name) for w, name, _, _ in options if name != chosen.name)
            self._commit(chosen, packing, wasted, others)

    def _packing(self, candidate: Candidate) -> Packing | None:
        """What the pool would hold of all that is left. Pools whose empty nodes are alike pack alike."""
        most = candidate.room - candidate.added
        if candidate.skip or most <= 0:
            return None
        key = (self._shapes[candidate.name], most)
        if key not in self._packed:
            self._packed[key] = pack(self._wanted(candidate), candidate.empty, most, self._board.kinds)
        return self._packed[key]

    def _domains(self, number: int) -> list[Domains]:
        """The domains of a group's spreads, counted once until nodes are added."""
        if number not in self._spread:
            self._spread[number] = self._board.domains(self._groups[number])
        return self._spread[number]

    def _forget(self, placed: Iterable[int]) -> None:
        """Drop the packings that no longer hold, now that there are new nodes and these groups are smaller."""
        self._spread.clear()
        stale = set(placed) | {number for number, group in self._groups.items() if group.pod.spreads}
        shapes = {self._shapes[c.name] for c in self._candidates if not stale.isdisjoint(c.fitting)}
        self._packed = {key: packing for key, packing in self._packed.items() if key[0] not in shapes}

    def _commit(self, chosen: Candidate, packing: Packing, wasted: float, others: list[tuple[float, str]]) -> None:
        for number, room in enumerate(packing.rooms, chosen.added + 1):
            room.node, room.name = chosen.empty.node, f"{chosen.name} (new {number})"
        # New nodes count as domains of spreads from now on; what still waits did not fit them.
        self._board.rooms.extend(packing.rooms)
        chosen.added += len(packing.rooms)
        chosen.note(packing, wasted, others)
        for number, placed in packing.placed.items():
            taken = self._take(number, placed)
            chosen.pods += len(taken)
            for pod, room in taken:
                message = f"{room.name} holds it; the pool grows by {counted(len(packing.rooms), 'server')}"
                self.pods.append(PodVerdict(pod.key, PodReason.TRIGGERED, message, chosen.name, room.name))
        self._forget(packing.placed)

    def _reject(self, number: int) -> None:
        """Say of what is left of a group why nothing is done."""
        group, left = self._groups[number], self._left[number]
        if not left:
            return
        stops = {c.skip or PoolReason.MAX_SIZE for c in self._candidates if number in c.fitting}
        if PoolReason.PAUSED in stops:
            reason = PodReason.PAUSED
        elif PoolReason.FROZEN in stops:
            reason = PodReason.FROZEN
        elif PoolReason.IN_BACKOFF in stops:
            reason = PodReason.IN_BACKOFF
        else:
            reason = PodReason.MAX_SIZE if stops else PodReason.NO_POOL
        # The pools that would hold it come first: there something can be done.
        ordered = sorted(self._candidates, key=lambda candidate: number in candidate.misfits)
        lines = [candidate.why_not(number) for candidate in ordered[:NAMED]]
        if len(ordered) > NAMED:
            lines.append(f"{len(ordered) - NAMED} more pools do not hold it either")
        message = "; ".join(lines) or "the cluster has no pool"
        for pod in group.pods[len(group.pods) - left :]:
            self.pods.append(PodVerdict(pod.key, reason, message))
