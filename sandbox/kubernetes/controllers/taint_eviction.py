"""Deletes pods from nodes with NoExecute taints, at once or when their toleration runs out."""

from datetime import datetime

from sandbox.kubernetes.kinds import NODES, PODS
from sandbox.kubernetes.objects import Obj, is_deleting, name_of, namespace_of, parse_time, set_condition
from sandbox.kubernetes.registry import Registry
from sandbox.kubernetes.scheduling import tolerates


class TaintEviction:
    """The taint eviction controller; remembers when it first saw taints that carry no time."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._seen: dict[tuple[str, str], datetime] = {}

    def step(self, now: datetime) -> None:
        """Delete every pod whose time on its node is over."""
        present = set()
        for node in self._registry.store.objs(NODES):
            taints = [t for t in node["spec"].get("taints") or () if t["effect"] == "NoExecute"]
            for taint in taints:
                present.add((node["metadata"]["uid"], taint["key"]))
            if taints:
                self._evict(node, taints, now)
        for gone in self._seen.keys() - present:
            del self._seen[gone]

    def _evict(self, node: Obj, taints: list[Obj], now: datetime) -> None:
        for stored in self._registry.store.pods_on(name_of(node)):
            pod = stored.obj
            if not is_deleting(pod) and self._must_go(pod, node, taints, now):
                self._registry.update(PODS, namespace_of(pod), name_of(pod), lambda p: _mark(p, now), "status")
                self._registry.delete(PODS, namespace_of(pod), name_of(pod))

    def _must_go(self, pod: Obj, node: Obj, taints: list[Obj], now: datetime) -> bool:
        for taint in taints:
            covering = [t for t in pod["spec"].get("tolerations") or () if tolerates(t, taint)]
            if not covering:
                return True
            limits = [t["tolerationSeconds"] for t in covering if t.get("tolerationSeconds") is not None]
            if limits and (now - self._since(node, taint, now)).total_seconds() >= min(limits):
                return True
        return False

    def _since(self, node: Obj, taint: Obj, now: datetime) -> datetime:
        if taint.get("timeAdded"):
            return parse_time(taint["timeAdded"])
        return self._seen.setdefault((node["metadata"]["uid"], taint["key"]), now)


def _mark(pod: Obj, now: datetime) -> Obj:
    target = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}
    set_condition(pod, target | {"message": "Taint manager: deleting due to NoExecute taint"}, now)
    return pod
