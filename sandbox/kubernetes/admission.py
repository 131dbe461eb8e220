"""Admission: refusals and additions that depend on the user and on other objects."""

from sandbox.kubernetes import kinds
from sandbox.kubernetes.errors import ApiError, Cause, forbidden, not_found
from sandbox.kubernetes.kinds import Kind
from sandbox.kubernetes.objects import Obj, is_deleting, name_of, namespace_of
from sandbox.kubernetes.pod_accounts import set_account
from sandbox.kubernetes.store import Store

# A pod without a class has priority 0 unless some class is the global default.
_SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def check_namespace(store: Store, kind: Kind, obj: Obj) -> None:
    """Refuse a create in a namespace that is missing (404) or going away (403)."""
    if not kind.namespaced:
        return
    namespace = store.get(kinds.NAMESPACES, "", namespace_of(obj))
    if namespace is None:
        raise not_found(kinds.NAMESPACES, namespace_of(obj))
    if is_deleting(namespace.obj):
        raise terminating(kind, name_of(obj), namespace_of(obj))


def terminating(kind: Kind, name: str, namespace: str) -> ApiError:
    """403 with the cause by which clients tell a namespace that is going away."""
    text = f"namespace {namespace} is being terminated"
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    return forbidden(kind, name, why, [Cause("metadata.namespace", text, "NamespaceTerminating")])


def admit_pod(store: Store, pod: Obj) -> None:
    """Add to a new pod what other objects say: its priority, and the token of its service account.

    Raises ApiError 403 when one of those is missing.
    """
    set_account(store, pod)
    set_priority(store, pod)


def set_priority(store: Store, pod: Obj) -> None:
    """Resolve `priorityClassName` into `priority`, as the Priority admission plugin does."""
    spec = pod["spec"]
    name = spec.get("priorityClassName", "")
    if not name:
        spec.setdefault("priority", 0)
        spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
        return
    found = store.get(kinds.PRIORITY_CLASSES, "", name)
    if found is None and name not in _SYSTEM_PRIORITIES:
        raise forbidden(kinds.PODS, name_of(pod), f"no PriorityClass with name {name} was found")
    spec["priority"] = found.obj["value"] if found else _SYSTEM_PRIORITIES[name]
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
