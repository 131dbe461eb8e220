"""Deletes what belonged to deleted objects: dependents by owner reference, contents by namespace."""

from datetime import datetime

from sandbox.kubernetes.kinds import ALL, CONFIG_MAPS, NAMESPACES, NEW_EVENTS, SERVICE_ACCOUNTS, Kind
from sandbox.kubernetes.objects import Obj, is_deleting, name_of, namespace_of
from sandbox.kubernetes.registry import INTERNAL, Registry

_FOREGROUND, _ORPHAN = "foregroundDeletion", "orphan"
_BACKGROUND = {"propagationPolicy": "Background"}


def collect_dependents(registry: Registry, now: datetime) -> None:
    """Delete objects all of whose owners are gone, and finish foreground and orphaning deletions."""
    del now
    for uid in registry.store.owner_uids():
        if registry.store.by_uid(uid) is None:
            _delete_all(registry, registry.store.owned_with_kind(uid))
    for kind, obj in registry.store.deleting():
        finalizers = obj["metadata"].get("finalizers") or ()
        dependents = registry.store.owned_with_kind(obj["metadata"]["uid"])
        if _ORPHAN in finalizers:
            for dependent_kind, dependent in dependents:
                _disown(registry, dependent_kind, dependent, obj["metadata"]["uid"])
            _drop(registry, kind, obj, _ORPHAN)
        elif _FOREGROUND in finalizers:
            _delete_all(registry, dependents)
            if not registry.store.owned_with_kind(obj["metadata"]["uid"]):
                _drop(registry, kind, obj, _FOREGROUND)


def _delete_all(registry: Registry, dependents: list[tuple[Kind, Obj]]) -> None:
    for kind, obj in dependents:
        owners = obj["metadata"].get("ownerReferences") or ()
        alive = [o for o in (registry.store.by_uid(owner["uid"]) for owner in owners) if o is not None]
        if not is_deleting(obj) and all(is_deleting(owner) for owner in alive):
            registry.delete(kind, namespace_of(obj), name_of(obj), _BACKGROUND)


def _disown(registry: Registry, kind: Kind, obj: Obj, uid: str) -> None:
    def write(current: Obj) -> Obj:
        owners = current["metadata"]["ownerReferences"]
        current["metadata"]["ownerReferences"] = [owner for owner in owners if owner["uid"] != uid]
        return current

    registry.update(kind, namespace_of(obj), name_of(obj), write)


def _drop(registry: Registry, kind: Kind, obj: Obj, finalizer: str) -> None:
    def write(current: Obj) -> Obj:
        current["metadata"]["finalizers"] = [f for f in current["metadata"]["finalizers"] if f != finalizer]
        return current

    registry.update(kind, namespace_of(obj), name_of(obj), write)


def reconcile_namespaces(registry: Registry, authority_pem: str) -> None:
    """Give each namespace its service account and authority; empty and remove those being deleted."""
    for namespace in registry.store.objs(NAMESPACES):
        name = name_of(namespace)
        if is_deleting(namespace):
            _empty(registry, name)
        else:
            furnish(registry, name, authority_pem)


def furnish(registry: Registry, name: str, authority_pem: str) -> None:
    """Create what each namespace has, where it is missing."""
    if registry.store.get(SERVICE_ACCOUNTS, name, "default") is None:
        registry.create(SERVICE_ACCOUNTS, name, {"metadata": {"name": "default"}})
    if registry.store.get(CONFIG_MAPS, name, "kube-root-ca.crt") is None:
        root = {"metadata": {"name": "kube-root-ca.crt"}, "data": {"ca.crt": authority_pem}}
        registry.create(CONFIG_MAPS, name, root)


def _empty(registry: Registry, name: str) -> None:
    left = 0
    for kind in ALL:
        if not kind.namespaced or kind is NEW_EVENTS:
            continue
        for stored in registry.store.all(kind, name):
            if not is_deleting(stored.obj):
                registry.delete(kind, name, name_of(stored.obj), _BACKGROUND)
            left += registry.store.get(kind, name, name_of(stored.obj)) is not None
    if not left:
        registry.update(NAMESPACES, "", name, _finalized, INTERNAL)


def _finalized(namespace: Obj) -> Obj:
    namespace["spec"]["finalizers"] = []
    return namespace
