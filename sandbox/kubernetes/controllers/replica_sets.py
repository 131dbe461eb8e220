"""Keeps as many pods as replica sets want."""

from datetime import datetime

from sandbox.kubernetes.kinds import PODS, REPLICA_SETS
from sandbox.kubernetes.objects import (
    Obj,
    clone,
    is_deleting,
    is_finished,
    is_true,
    name_of,
    namespace_of,
    owner_reference,
)
from sandbox.kubernetes.registry import Registry

_BURST = 500  # pods created or deleted in one round, as the real controller limits itself


def reconcile_replica_sets(registry: Registry, now: datetime) -> None:
    """Create and delete pods until the numbers agree, and report them."""
    del now
    for replica_set in registry.store.objs(REPLICA_SETS):
        if is_deleting(replica_set):
            continue
        pods = active_pods(registry, replica_set)
        missing = replica_set["spec"]["replicas"] - len(pods)
        for _ in range(min(missing, _BURST)):
            registry.create(PODS, namespace_of(replica_set), pod_of("apps/v1", "ReplicaSet", replica_set))
        for pod in sorted(pods, key=_keep_rank)[: min(max(0, -missing), _BURST)]:
            registry.delete(PODS, namespace_of(pod), name_of(pod))
        _report(registry, replica_set)


def active_pods(registry: Registry, owner: Obj) -> list[Obj]:
    """The pods of an owner that have not ended and are not about to go."""
    owned = registry.store.owned_by(owner["metadata"]["uid"], PODS)
    return [pod for pod in owned if not is_deleting(pod) and not is_finished(pod)]


def pod_of(api_version: str, kind: str, owner: Obj) -> Obj:
    """A new pod from an owner's template."""
    template = clone(owner["spec"]["template"])
    metadata = template.setdefault("metadata", {})
    metadata.pop("creationTimestamp", None)
    metadata["generateName"] = f"{name_of(owner)}-"
    metadata["ownerReferences"] = [owner_reference(api_version, kind, owner)]
    return template


def _keep_rank(pod: Obj) -> tuple[bool, bool, float]:
    """Pods to delete first sort first: unassigned, then not ready, then young ones."""
    born = -float(pod["metadata"]["creationTimestamp"].translate(_DIGITS))
    return bool(pod["spec"].get("nodeName")), is_true(pod, "Ready"), born


_DIGITS = {ord(letter): None for letter in "-:TZ"}


def _report(registry: Registry, replica_set: Obj) -> None:
    pods = active_pods(registry, replica_set)
    ready = sum(is_true(pod, "Ready") for pod in pods)
    generation = {"observedGeneration": replica_set["metadata"]["generation"]}
    status = {"replicas": len(pods), "fullyLabeledReplicas": len(pods)} | generation
    if ready:
        status |= {"readyReplicas": ready, "availableReplicas": ready}

    def write(current: Obj) -> Obj:
        current["status"] = status
        return current

    registry.update(REPLICA_SETS, namespace_of(replica_set), name_of(replica_set), write, "status")
