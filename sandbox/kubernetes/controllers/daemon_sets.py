"""Keeps one pod of each daemon set on every node that it wants and tolerates."""

import hashlib
from collections import defaultdict
from datetime import datetime

import msgspec

from sandbox.kubernetes.controllers.replica_sets import pod_of
from sandbox.kubernetes.kinds import DAEMON_SETS, NODES, PODS
from sandbox.kubernetes.objects import (
    Obj,
    dig,
    is_deleting,
    is_finished,
    is_true,
    labels_of,
    name_of,
    namespace_of,
)
from sandbox.kubernetes.registry import Registry
from sandbox.kubernetes.scheduling import untolerated, wants_node

_HASH_LABEL = "controller-revision-hash"
# What the real controller adds to each daemon pod.
_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
# Daemon pods start on nodes that are not ready, e.g. to bring the network that makes them so.
_IGNORED = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def reconcile_daemon_sets(registry: Registry, now: datetime) -> None:
    """Create missing pods, delete those out of place or of an old template, and report."""
    del now
    nodes = list(registry.store.objs(NODES))
    for daemon_set in registry.store.objs(DAEMON_SETS):
        if not is_deleting(daemon_set):
            _reconcile(registry, daemon_set, nodes)


def _reconcile(registry: Registry, daemon_set: Obj, nodes: list[Obj]) -> None:
    template = _template(daemon_set)
    wanted = [name_of(node) for node in nodes if _belongs(template["spec"], node)]
    fingerprint = _fingerprint(daemon_set)
    by_node = defaultdict(list)
    for pod in registry.store.owned_by(daemon_set["metadata"]["uid"], PODS):
        by_node[_meant_for(pod)].append(pod)
    for name in wanted:
        if not by_node[name]:
            _create(registry, daemon_set, template, name, fingerprint)
    for name, pods in by_node.items():
        surplus = pods if name not in wanted else [p for p in pods if is_finished(p)] or pods[1:]
        for pod in surplus:
            if not is_deleting(pod):
                registry.delete(PODS, namespace_of(pod), name_of(pod))
    _roll(registry, daemon_set, fingerprint)
    _report(registry, daemon_set, wanted, fingerprint)


def _fingerprint(daemon_set: Obj) -> str:
    return hashlib.sha256(msgspec.json.encode(daemon_set["spec"]["template"], order="sorted")).hexdigest()[:10]


def _template(daemon_set: Obj) -> Obj:
    template = pod_of("apps/v1", "DaemonSet", daemon_set)
    tolerations = template["spec"].setdefault("tolerations", [])
    tolerations += [{"key": key, "operator": "Exists", "effect": effect} for key, effect in _TOLERATED]
    if template["spec"].get("hostNetwork"):
        key = "node.kubernetes.io/network-unavailable"
        tolerations.append({"key": key, "operator": "Exists", "effect": "NoSchedule"})
    return template


def _belongs(spec: Obj, node: Obj) -> bool:
    tolerations = [*spec["tolerations"], *_IGNORED]
    taints = node["spec"].get("taints") or ()
    return wants_node(spec, node) and not untolerated(tolerations, taints, ("NoSchedule", "NoExecute"))


def _meant_for(pod: Obj) -> str:
    """The node a daemon pod is on, or is bound for by its affinity."""
    if pod["spec"].get("nodeName"):
        return str(pod["spec"]["nodeName"])
    terms = dig(pod["spec"], ("affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")) or []
    fields = terms[0].get("matchFields") if terms else None
    return str(fields[0]["values"][0]) if fields else ""


def _create(registry: Registry, daemon_set: Obj, template: Obj, node: str, fingerprint: str) -> None:
    """A pod that the scheduler can only put on that node."""
    here = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    affinity = template["spec"].get("affinity") or {}
    terms = dig(affinity, ("nodeAffinity", _REQUIRED, "nodeSelectorTerms")) or [{}]
    pinned = {_REQUIRED: {"nodeSelectorTerms": [term | {"matchFields": here} for term in terms]}}
    spec = template["spec"] | {"affinity": affinity | {"nodeAffinity": pinned}}
    labels = (template["metadata"].get("labels") or {}) | {_HASH_LABEL: fingerprint}
    pod = {"metadata": template["metadata"] | {"labels": labels}, "spec": spec}
    registry.create(PODS, namespace_of(daemon_set), pod)


def _roll(registry: Registry, daemon_set: Obj, fingerprint: str) -> None:
    """Delete one pod of an old template, when all the others are ready."""
    if daemon_set["spec"]["updateStrategy"]["type"] != "RollingUpdate":
        return
    pods = registry.store.owned_by(daemon_set["metadata"]["uid"], PODS)
    old = [pod for pod in pods if labels_of(pod).get(_HASH_LABEL) != fingerprint]
    if old and all(is_true(pod, "Ready") and not is_deleting(pod) for pod in pods if pod is not old[0]):
        registry.delete(PODS, namespace_of(old[0]), name_of(old[0]))


def _report(registry: Registry, daemon_set: Obj, wanted: list[str], fingerprint: str) -> None:
    pods = [p for p in registry.store.owned_by(daemon_set["metadata"]["uid"], PODS) if not is_deleting(p)]
    here = [pod for pod in pods if _meant_for(pod) in wanted]
    ready = sum(is_true(pod, "Ready") for pod in here)
    status = {
        "currentNumberScheduled": len(here),
        "desiredNumberScheduled": len(wanted),
        "numberMisscheduled": len(pods) - len(here),
        "numberReady": ready,
        "observedGeneration": daemon_set["metadata"]["generation"],
        "updatedNumberScheduled": sum(labels_of(pod).get(_HASH_LABEL) == fingerprint for pod in here),
        "numberAvailable": ready,
        "numberUnavailable": len(wanted) - ready,
    }

    def write(obj: Obj) -> Obj:
        obj["status"] = status
        return obj

    registry.update(DAEMON_SETS, namespace_of(daemon_set), name_of(daemon_set), write, "status")
