"""Rolls deployments out: a replica set for each template, scaled up and down within surge and unavailability."""

import hashlib
import math
from datetime import datetime

import msgspec

from sandbox.kubernetes.kinds import DEPLOYMENTS, REPLICA_SETS
from sandbox.kubernetes.objects import (
    Obj,
    clone,
    is_deleting,
    name_of,
    namespace_of,
    owner_reference,
    set_condition,
)
from sandbox.kubernetes.registry import Registry

_HASH_LABEL = "pod-template-hash"
_REVISION = "deployment.kubernetes.io/revision"


def reconcile_deployments(registry: Registry, now: datetime) -> None:
    """One round over all deployments."""
    for deployment in registry.store.objs(DEPLOYMENTS):
        if not is_deleting(deployment):
            _reconcile(registry, deployment, now)


def _reconcile(registry: Registry, deployment: Obj, now: datetime) -> None:
    owned = registry.store.owned_by(deployment["metadata"]["uid"], REPLICA_SETS)
    fingerprint = _fingerprint(deployment)
    current = next((rs for rs in owned if _hash_of(rs) == fingerprint), None)
    if not deployment["spec"].get("paused"):
        if current is None:
            current = _create(registry, deployment, fingerprint)
        current = _make_latest(registry, deployment, current, owned)
        _scale_all(registry, deployment, current, [rs for rs in owned if _hash_of(rs) != fingerprint])
    owned = registry.store.owned_by(deployment["metadata"]["uid"], REPLICA_SETS)
    _report(registry, deployment, fingerprint, owned, now)
    _forget_old(registry, deployment, [rs for rs in owned if _hash_of(rs) != fingerprint])


def _fingerprint(deployment: Obj) -> str:
    return hashlib.sha256(msgspec.json.encode(deployment["spec"]["template"], order="sorted")).hexdigest()[:10]


def _hash_of(replica_set: Obj) -> str:
    return str((replica_set["metadata"].get("labels") or {}).get(_HASH_LABEL, ""))


def _revision(obj: Obj) -> int:
    return int((obj["metadata"].get("annotations") or {}).get(_REVISION, 0))


def _create(registry: Registry, deployment: Obj, fingerprint: str) -> Obj:
    """The replica set of the present template, with no replicas yet."""
    template = clone(deployment["spec"]["template"])
    mark = {_HASH_LABEL: fingerprint}
    template["metadata"]["labels"] = (template["metadata"].get("labels") or {}) | mark
    selector = clone(deployment["spec"]["selector"])
    selector["matchLabels"] = (selector.get("matchLabels") or {}) | mark
    metadata = {
        "name": f"{name_of(deployment)}-{fingerprint}",
        "labels": template["metadata"]["labels"],
        "ownerReferences": [owner_reference("apps/v1", "Deployment", deployment)],
    }
    spec = {"replicas": 0, "selector": selector, "template": template}
    return registry.create(REPLICA_SETS, namespace_of(deployment), {"metadata": metadata, "spec": spec}).obj


def _make_latest(registry: Registry, deployment: Obj, current: Obj, owned: list[Obj]) -> Obj:
    """Give the present replica set the highest revision, also after a roll back to an old template."""
    others = max((_revision(rs) for rs in owned if rs is not current), default=0)
    revision = {_REVISION: str(max(_revision(current), others + 1))}

    def annotate(obj: Obj) -> Obj:
        obj["metadata"]["annotations"] = (obj["metadata"].get("annotations") or {}) | revision
        return obj

    registry.update(DEPLOYMENTS, namespace_of(deployment), name_of(deployment), annotate)
    return registry.update(REPLICA_SETS, namespace_of(current), name_of(current), annotate).obj


def _scale_all(registry: Registry, deployment: Obj, current: Obj, others: list[Obj]) -> None:
    wanted = deployment["spec"]["replicas"]
    surge, unavailable = _leeway(deployment)
    present = sum(_replicas(rs) for rs in others)
    running = sum(rs["status"].get("replicas", 0) for rs in others)
    if deployment["spec"]["strategy"]["type"] == "Recreate":
        for replica_set in others:
            _scale(registry, replica_set, 0)
        _scale(registry, current, 0 if running else wanted)
        return
    have = _replicas(current)
    target = wanted if have > wanted else min(wanted, max(have, wanted + surge - present))
    _scale(registry, current, target)
    left = _after_scale_down(target, _available_of(current), others, wanted - unavailable)
    for replica_set in others:
        _scale(registry, replica_set, left[name_of(replica_set)])


def _after_scale_down(new: int, new_available: int, others: list[Obj], least: int) -> dict[str, int]:
    """The replicas to leave in old replica sets: first those not available go, then as many as can be spared.

    Neither takes more than the pods beyond `least`, not counting new ones that are not available yet, as the
    status of a replica set may lag behind its pods.
    """
    left = {name_of(rs): _replicas(rs) for rs in others}
    beyond = new + sum(left.values()) - least - (new - new_available)
    for replica_set in sorted(others, key=_revision):
        name = name_of(replica_set)
        step = max(0, min(beyond, left[name] - _available_of(replica_set)))
        left[name], beyond = left[name] - step, beyond - step
    spare = min(beyond, new_available + sum(_available_of(rs) for rs in others) - least)
    for replica_set in sorted(others, key=_revision):
        name = name_of(replica_set)
        step = max(0, min(spare, left[name]))
        left[name], spare = left[name] - step, spare - step
    return left


def _available_of(replica_set: Obj) -> int:
    return int(replica_set["status"].get("availableReplicas", 0))


def _leeway(deployment: Obj) -> tuple[int, int]:
    """How many pods above and below the wanted number; never both zero."""
    rolling = deployment["spec"]["strategy"].get("rollingUpdate") or {}
    wanted = deployment["spec"]["replicas"]
    surge = _portion(rolling.get("maxSurge", "25%"), wanted, up=True)
    unavailable = _portion(rolling.get("maxUnavailable", "25%"), wanted, up=False)
    return surge, unavailable if surge or unavailable else 1


def _portion(value: int | str, whole: int, up: bool) -> int:
    if isinstance(value, int):
        return value
    share = int(value[:-1]) * whole / 100
    return math.ceil(share) if up else math.floor(share)


def _replicas(replica_set: Obj) -> int:
    return int(replica_set["spec"]["replicas"])


def _scale(registry: Registry, replica_set: Obj, replicas: int) -> None:
    def write(obj: Obj) -> Obj:
        obj["spec"]["replicas"] = replicas
        return obj

    registry.update(REPLICA_SETS, namespace_of(replica_set), name_of(replica_set), write)


def _report(registry: Registry, deployment: Obj, fingerprint: str, owned: list[Obj], now: datetime) -> None:
    wanted = deployment["spec"]["replicas"]
    total = sum(rs["status"].get("replicas", 0) for rs in owned)
    ready = sum(rs["status"].get("readyReplicas", 0) for rs in owned)
    updated = sum(rs["status"].get("replicas", 0) for rs in owned if _hash_of(rs) == fingerprint)
    counts = {
        "replicas": total,
        "updatedReplicas": updated,
        "readyReplicas": ready,
        "availableReplicas": ready,
        "unavailableReplicas": max(0, wanted - ready),
    }

    def write(obj: Obj) -> Obj:
        kept = obj["status"].get("conditions", [])
        shown = {name: count for name, count in counts.items() if count}
        obj["status"] = {"observedGeneration": obj["metadata"]["generation"], **shown, "conditions": kept}
        enough = ready >= wanted - _leeway(deployment)[1]
        set_condition(obj, _available(enough), now)
        done = updated == wanted == total == ready
        set_condition(obj, _progressing(done), now)
        return obj

    registry.update(DEPLOYMENTS, namespace_of(deployment), name_of(deployment), write, "status")


def _available(enough: bool) -> Obj:
    if enough:
        words = {"reason": "MinimumReplicasAvailable", "message": "Deployment has minimum availability."}
        return {"type": "Available", "status": "True"} | words
    words = {"reason": "MinimumReplicasUnavailable", "message": "Deployment does not have minimum availability."}
    return {"type": "Available", "status": "False"} | words


def _progressing(done: bool) -> Obj:
    reason = "NewReplicaSetAvailable" if done else "ReplicaSetUpdated"
    return {"type": "Progressing", "status": "True", "reason": reason, "message": ""}


def _forget_old(registry: Registry, deployment: Obj, others: list[Obj]) -> None:
    """Delete empty replica sets beyond the revision history."""
    empty = [rs for rs in others if not _replicas(rs) and not rs["status"].get("replicas")]
    surplus = len(empty) - deployment["spec"]["revisionHistoryLimit"]
    for replica_set in sorted(empty, key=_revision)[: max(0, surplus)]:
        registry.delete(REPLICA_SETS, namespace_of(replica_set), name_of(replica_set))
