"""Binds pending pods to nodes, or says why that is impossible."""

from datetime import datetime
from typing import NamedTuple

import msgspec

from sandbox.kubernetes.controllers.predicates import (
    Misfit,
    Neighbours,
    NodeRoom,
    Resources,
    misfit_alone,
    requests_of,
    summary,
)
from sandbox.kubernetes.kinds import NODES, PODS
from sandbox.kubernetes.objects import (
    Obj,
    condition,
    is_deleting,
    is_finished,
    name_of,
    namespace_of,
    set_condition,
    uid_of,
)
from sandbox.kubernetes.registry import Registry
from sandbox.kubernetes.subresources import bind

_ENOUGH = 100  # fitting nodes after which the search stops, kube-scheduler's minFeasibleNodesToFind
_BATCH = 200  # pods bound in one round, so that the API goes on answering meanwhile
_NAME = "default-scheduler"


class _Wish(NamedTuple):
    """What a pod asks for, and what it has in common with pods that fit where it fits."""

    requests: Resources
    likeness: bytes


class Scheduler:
    """The scheduler; between rounds it remembers where it stopped and what each pod asks for."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._wishes: dict[str, _Wish] = {}
        self._start = 0

    def step(self, now: datetime) -> None:
        """Place the pods that wait, those of high priority first."""
        waiting = [s.obj for s in self._registry.store.pods_on("") if _is_waiting(s.obj)]
        if not waiting:
            return
        rooms = self._rooms()
        hopeless: dict[bytes, str] = {}
        bound = 0
        for pod in sorted(waiting, key=lambda p: (-p["spec"].get("priority", 0), p["metadata"]["creationTimestamp"])):
            likeness = self._wish(pod).likeness
            if likeness not in hopeless:
                room, why = self._place(pod, rooms)
                if room:
                    bind(self._registry, namespace_of(pod), name_of(pod), name_of(room.node))
                    room.add(pod, self._wish(pod).requests)
                    bound += 1
                    if bound == _BATCH:
                        return
                    continue
                hopeless[likeness] = why
            self._refuse(pod, hopeless[likeness], now)

    def _rooms(self) -> list[NodeRoom]:
        store = self._registry.store
        rooms = []
        for node in store.objs(NODES):
            room = NodeRoom.of(node)
            for stored in store.pods_on(name_of(node)):
                if not is_finished(stored.obj):
                    room.add(stored.obj, self._wish(stored.obj).requests)
            rooms.append(room)
        return rooms

    def _wish(self, pod: Obj) -> _Wish:
        """Read once for each pod: what it says of that cannot change."""
        uid = uid_of(pod)
        if uid not in self._wishes:
            if len(self._wishes) > 2 * self._registry.store.count(PODS) + 1000:
                self._wishes.clear()
            alike = [namespace_of(pod), pod["metadata"].get("labels"), _constraints(pod)]
            self._wishes[uid] = _Wish(requests_of(pod), msgspec.json.encode(alike))
        return self._wishes[uid]

    def _place(self, pod: Obj, rooms: list[NodeRoom]) -> tuple[NodeRoom | None, str]:
        """The least loaded of the first fitting nodes, or the message why there is none."""
        requests, neighbours = self._wish(pod).requests, Neighbours(pod, rooms)
        fitting: list[NodeRoom] = []
        misfits: list[Misfit] = []
        for offset in range(len(rooms)):
            room = rooms[(self._start + offset) % len(rooms)]
            misfit = misfit_alone(pod, requests, room) or neighbours.misfit(room)
            if misfit:
                misfits.append(misfit)
            else:
                fitting.append(room)
                if len(fitting) >= _ENOUGH:
                    break
        if not fitting:
            return None, summary(misfits, len(rooms))
        self._start = (self._start + len(fitting) + len(misfits)) % len(rooms)
        return min(fitting, key=lambda room: (room.avoided, room.load())), ""

    def _refuse(self, pod: Obj, why: str, now: datetime) -> None:
        found = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why}
        said = condition(pod, "PodScheduled")
        if said and said.get("message") == why and said["status"] == "False":
            return

        def mark(current: Obj) -> Obj:
            set_condition(current, found, now)
            return current

        self._registry.update(PODS, namespace_of(pod), name_of(pod), mark, "status")


def _is_waiting(pod: Obj) -> bool:
    spec = pod["spec"]
    ours = spec.get("schedulerName", _NAME) == _NAME and not spec.get("schedulingGates")
    return ours and not is_deleting(pod) and not is_finished(pod)


def _constraints(pod: Obj) -> Obj:
    """What of a pod decides where it fits: pods alike in that need be tried once only."""
    names = ("nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "overhead", "hostNetwork")
    constraints = {name: pod["spec"].get(name) for name in names}
    containers = [*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or [])]
    return constraints | {"containers": [(c.get("resources"), c.get("ports")) for c in containers]}
