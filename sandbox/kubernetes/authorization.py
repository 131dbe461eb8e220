"""What a user may do: admins everything, kubelets their own things, the rest by RBAC objects."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sandbox.kubernetes import kinds
from sandbox.kubernetes.errors import ApiError
from sandbox.kubernetes.identity import User
from sandbox.kubernetes.node_restriction import LEASE_NAMESPACE
from sandbox.kubernetes.objects import Obj
from sandbox.kubernetes.store import Store

_READ = ("get", "list", "watch")
_CERTIFICATES = "certificates.k8s.io"
# (API group, resource with subresource, verbs): the `system:node` role, as far as hollow nodes need it.
_NODE_RULES = {
    ("", "nodes"): ("create", *_READ, "update", "patch"),
    ("", "nodes/status"): ("update", "patch"),
    ("", "pods"): ("create", "delete", *_READ),
    ("", "pods/status"): ("update", "patch"),
    ("", "pods/eviction"): ("create",),
    ("", "events"): ("create", "update", "patch"),
    ("events.k8s.io", "events"): ("create", "update", "patch"),
    ("", "services"): _READ,
    ("", "configmaps"): _READ,
    ("", "secrets"): _READ,
    ("coordination.k8s.io", "leases"): ("create", "get", "update", "patch", "delete"),
    (_CERTIFICATES, "certificatesigningrequests"): ("create", *_READ),
    ("storage.k8s.io", "volumeattachments"): ("get",),
}


@dataclass(frozen=True)
class Access:
    """One thing somebody wants to do. `resource` is `pods` or `pods/eviction`; `name` may be empty."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""


def allows(store: Store, user: User, access: Access) -> bool:
    """Whether the user may do that."""
    if user.is_admin:
        return True
    if user.node and _node_may(store, user, access):
        return True
    return any(_covers(rule, access) for rule in _rules(store, user, access.namespace))


def refusal(user: User, access: Access) -> ApiError:
    """403 in the words of the API server."""
    plural = access.resource.partition("/")[0]
    resource = f"{plural}.{access.group}" if access.group else plural
    subject = f'{resource} "{access.name}"' if access.name else resource
    scope = f'in the namespace "{access.namespace}"' if access.namespace else "at the cluster scope"
    what = f'cannot {access.verb} resource "{access.resource}" in API group "{access.group}" {scope}'
    details = ({"name": access.name} if access.name else {}) | {"kind": plural}
    if access.group:
        details["group"] = access.group
    return ApiError(403, "Forbidden", f'{subject} is forbidden: User "{user.name}" {what}', details)


def _node_may(store: Store, user: User, access: Access) -> bool:
    if access.verb not in _NODE_RULES.get((access.group, access.resource), ()):
        return False
    if access.resource == "nodes" and access.verb in _READ and access.verb != "get":
        return True
    if access.resource in ("nodes", "nodes/status"):
        return access.verb == "create" or access.name == user.node
    if access.resource == "leases":
        return access.namespace == LEASE_NAMESPACE
    if access.resource in ("secrets", "configmaps"):
        return access.verb == "get" and _referenced(store, user.node, access)
    return True


def _referenced(store: Store, node: str, access: Access) -> bool:
    """Whether a pod on the node mounts that object: a kubelet may read no others."""
    field = ("secret", "secretName") if access.resource == "secrets" else ("configMap", "name")
    for pod in store.pods_on(node):
        if pod.obj["metadata"]["namespace"] != access.namespace:
            continue
        for volume in pod.obj["spec"].get("volumes") or []:
            if (volume.get(field[0]) or {}).get(field[1]) == access.name:
                return True
    return False


def _rules(store: Store, user: User, namespace: str) -> Iterator[Obj]:
    yield from _bound(store, user, store.objs(kinds.CLUSTER_ROLE_BINDINGS))
    if namespace:
        yield from _bound(store, user, store.objs(kinds.ROLE_BINDINGS, namespace))


def _bound(store: Store, user: User, bindings: Iterable[Obj]) -> Iterator[Obj]:
    for binding in bindings:
        if not any(_is_subject(user, subject) for subject in binding.get("subjects") or []):
            continue
        reference = binding["roleRef"]
        cluster = reference["kind"] == "ClusterRole"
        kind = kinds.CLUSTER_ROLES if cluster else kinds.ROLES
        namespace = "" if cluster else binding["metadata"]["namespace"]
        role = store.get(kind, namespace, reference["name"])
        yield from (role.obj.get("rules") or []) if role else ()


def _is_subject(user: User, subject: Obj) -> bool:
    match subject.get("kind"):
        case "User":
            return bool(subject["name"] == user.name)
        case "Group":
            return subject["name"] in user.groups
        case "ServiceAccount":
            return user.name == f"system:serviceaccount:{subject.get('namespace', '')}:{subject['name']}"
    return False


def _covers(rule: Obj, access: Access) -> bool:
    names = rule.get("resourceNames") or []
    subresource = access.resource.partition("/")[2]
    resources = rule.get("resources") or []
    hit = access.resource in resources or "*" in resources or (subresource and f"*/{subresource}" in resources)
    return (
        _lists(rule, "verbs", access.verb)
        and _lists(rule, "apiGroups", access.group)
        and bool(hit)
        and (not names or access.name in names)
    )


def _lists(rule: Obj, field: str, value: str) -> bool:
    listed = rule.get(field) or []
    return value in listed or "*" in listed
