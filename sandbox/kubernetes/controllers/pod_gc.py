"""Removes pods whose node is gone, and those stuck on a node that was declared out of service."""

from datetime import datetime

from sandbox.kubernetes.kinds import NODES, PODS
from sandbox.kubernetes.objects import (
    Obj,
    is_deleting,
    is_finished,
    is_true,
    name_of,
    namespace_of,
    set_condition,
)
from sandbox.kubernetes.registry import Registry
from sandbox.kubernetes.timing import Timing

_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


class PodGarbage:
    """The pod garbage collector; remembers since when each node has been missing."""

    def __init__(self, registry: Registry, timing: Timing) -> None:
        self._registry = registry
        self._quarantine = timing.pod_gc_quarantine
        self._missing: dict[str, datetime] = {}

    def step(self, now: datetime) -> None:
        """Force-delete orphaned pods after the quarantine, terminating ones of out-of-service nodes at once."""
        nodes = {name_of(node): node for node in self._registry.store.objs(NODES)}
        orphans: set[str] = set()
        for pod in self._registry.store.objs(PODS):
            node = pod["spec"].get("nodeName")
            if not node:
                continue
            if node not in nodes:
                orphans.add(node)
                since = self._missing.setdefault(node, now)
                if (now - since).total_seconds() >= self._quarantine:
                    self._remove(pod, "PodGC: node no longer exists", now)
            elif is_deleting(pod) and _is_out_of_service(nodes[node]):
                self._remove(pod, "PodGC: node is out of service", now)
        for node in self._missing.keys() - orphans:
            del self._missing[node]

    def _remove(self, pod: Obj, why: str, now: datetime) -> None:
        key = (namespace_of(pod), name_of(pod))
        if not is_finished(pod):
            self._registry.update(PODS, *key, lambda p: _failed(p, why, now), "status")
        self._registry.delete(PODS, *key, {"gracePeriodSeconds": 0})


def _is_out_of_service(node: Obj) -> bool:
    tainted = any(taint["key"] == _OUT_OF_SERVICE for taint in node["spec"].get("taints") or ())
    return tainted and not is_true(node, "Ready")


def _failed(pod: Obj, why: str, now: datetime) -> Obj:
    target = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "message": why}
    set_condition(pod, target, now)
    pod["status"]["phase"] = "Failed"
    return pod
