"""Watches over nodes: no lease renewed for too long means Unknown; conditions become taints.

As in a real cluster, the time a node has been silent is measured by this controller's own clock from when
it last saw a change, not by what the kubelet writes: a skewed clock makes no node NotReady.
"""

from datetime import datetime, timedelta

from sandbox.kubernetes.kinds import LEASES, NODES, PODS
from sandbox.kubernetes.node_restriction import LEASE_NAMESPACE
from sandbox.kubernetes.objects import (
    Obj,
    condition,
    dig,
    is_true,
    labels_of,
    name_of,
    namespace_of,
    set_condition,
    stamp,
)
from sandbox.kubernetes.registry import INTERNAL, Registry
from sandbox.kubernetes.scheduling import UNSCHEDULABLE
from sandbox.kubernetes.timing import Timing

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
_PRESSURES = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}
_MANAGED = {NOT_READY, UNREACHABLE, UNSCHEDULABLE, *_PRESSURES.values()}
_REPORTED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_UNHEALTHY_SHARE = 0.55  # of a zone, from which small zones are not evicted from (unhealthy-zone-threshold)
_LARGE_ZONE = 50
_SLOWER = 10  # large unhealthy zones are tainted at a tenth of the rate


class NodeLifecycle:
    """The node lifecycle controller; remembers when it saw each node move."""

    def __init__(self, registry: Registry, timing: Timing) -> None:
        self._registry = registry
        self._timing = timing
        self._seen: dict[str, tuple[str, datetime]] = {}
        self._next_taint: dict[str, datetime] = {}

    def step(self, now: datetime) -> None:
        """Mark silent nodes, then bring the taints of all nodes up to date."""
        for node in self._registry.store.objs(NODES):
            self._watch_over(node, now)
        self._forget_gone()
        nodes = list(self._registry.store.objs(NODES))
        for node in nodes:
            self._taint_no_schedule(node)
        self._taint_no_execute(now)

    def _watch_over(self, node: Obj, now: datetime) -> None:
        uid, sign = node["metadata"]["uid"], self._sign_of_life(node)
        if self._seen.get(uid, ("", now))[0] != sign or uid not in self._seen:
            self._seen[uid] = (sign, now)
        silent = (now - self._seen[uid][1]).total_seconds()
        ready = condition(node, "Ready")
        if silent > self._timing.node_monitor_grace and (ready is None or ready["status"] != "Unknown"):
            self._registry.update(NODES, "", name_of(node), lambda n: _unknown(n, now), "status")
        if not is_true(self._registry.get(NODES, "", name_of(node)).obj, "Ready"):
            self._mark_pods(name_of(node), now)

    def _sign_of_life(self, node: Obj) -> str:
        lease = self._registry.store.get(LEASES, LEASE_NAMESPACE, name_of(node))
        renewed = dig(lease.obj, ("spec", "renewTime")) if lease else ""
        ready = condition(node, "Ready") or {}
        return f"{renewed} {ready.get('lastHeartbeatTime', '')}"

    def _forget_gone(self) -> None:
        alive = {node["metadata"]["uid"] for node in self._registry.store.objs(NODES)}
        for uid in self._seen.keys() - alive:
            del self._seen[uid]

    def _mark_pods(self, node: str, now: datetime) -> None:
        """Pods of a node that is not Ready are not Ready either."""
        for stored in self._registry.store.pods_on(node):
            pod = stored.obj
            if is_true(pod, "Ready"):
                self._registry.update(PODS, namespace_of(pod), name_of(pod), lambda p: _not_ready(p, now), "status")

    def _taint_no_schedule(self, node: Obj) -> None:
        wanted = set(_no_schedule_keys(node))
        present = {t["key"] for t in _taints(node) if t["effect"] == "NoSchedule" and t["key"] in _MANAGED}
        if wanted != present:
            self._set_taints(node, "NoSchedule", _MANAGED, [{"key": key} for key in sorted(wanted)])

    def _taint_no_execute(self, now: datetime) -> None:
        """Taint so that pods leave; not at all while no node is Ready, as then the fault is likely ours."""
        nodes = list(self._registry.store.objs(NODES))
        zones: dict[str, list[Obj]] = {}
        for node in nodes:
            zones.setdefault(_zone(node), []).append(node)
        if nodes and not any(is_true(node, "Ready") for node in nodes):
            for node in nodes:
                self._clear_no_execute(node)
            return
        for zone, members in zones.items():
            for node in members:
                key = _no_execute_key(node)
                if key == "":
                    self._clear_no_execute(node)
                elif not _has(node, key) and self._may_taint(zone, members, now):
                    taint = {"key": key, "timeAdded": stamp(now)}
                    self._set_taints(node, "NoExecute", {NOT_READY, UNREACHABLE}, [taint])

    def _may_taint(self, zone: str, members: list[Obj], now: datetime) -> bool:
        """One node at a time; slower or not at all where most of a zone is not Ready."""
        unready = sum(not is_true(node, "Ready") for node in members)
        pause = self._timing.node_eviction_pause
        if unready > 2 and unready / len(members) >= _UNHEALTHY_SHARE:
            if len(members) <= _LARGE_ZONE:
                return False
            pause *= _SLOWER
        if now < self._next_taint.get(zone, now):
            return False
        self._next_taint[zone] = now + timedelta(seconds=pause)
        return True

    def _clear_no_execute(self, node: Obj) -> None:
        if any(t["effect"] == "NoExecute" and t["key"] in (NOT_READY, UNREACHABLE) for t in _taints(node)):
            self._set_taints(node, "NoExecute", {NOT_READY, UNREACHABLE}, [])

    def _set_taints(self, node: Obj, effect: str, keys: set[str], wanted: list[Obj]) -> None:
        """Replace the taints of that effect and those keys, leaving all others alone."""

        def write(current: Obj) -> Obj:
            taints = [t for t in _taints(current) if t["effect"] != effect or t["key"] not in keys]
            current["spec"]["taints"] = taints + [{**taint, "effect": effect} for taint in wanted]
            if not current["spec"]["taints"]:
                del current["spec"]["taints"]
            return current

        self._registry.update(NODES, "", name_of(node), write, INTERNAL)


def _taints(node: Obj) -> list[Obj]:
    return node["spec"].get("taints") or []


def _has(node: Obj, key: str) -> bool:
    return any(t["key"] == key and t["effect"] == "NoExecute" for t in _taints(node))


def _zone(node: Obj) -> str:
    labels = labels_of(node)
    names = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")
    return ":".join(labels.get(name, "") for name in names)


def _no_execute_key(node: Obj) -> str:
    ready = condition(node, "Ready")
    if ready is None or ready["status"] == "True":
        return ""
    return NOT_READY if ready["status"] == "False" else UNREACHABLE


def _no_schedule_keys(node: Obj) -> list[str]:
    keys = [key for type_, key in _PRESSURES.items() if is_true(node, type_)]
    ready = condition(node, "Ready")
    if ready is None or ready["status"] == "False":
        keys.append(NOT_READY)
    elif ready["status"] == "Unknown":
        keys.append(UNREACHABLE)
    return [*keys, UNSCHEDULABLE] if node["spec"].get("unschedulable") else keys


def _unknown(node: Obj, now: datetime) -> Obj:
    for type_ in _REPORTED:
        known = condition(node, type_) is not None
        reason = "NodeStatusUnknown" if known else "NodeStatusNeverUpdated"
        message = "Kubelet stopped posting node status." if known else "Kubelet never posted node status."
        set_condition(node, {"type": type_, "status": "Unknown", "reason": reason, "message": message}, now)
    return node


def _not_ready(pod: Obj, now: datetime) -> Obj:
    set_condition(pod, {"type": "Ready", "status": "False"}, now)
    return pod
