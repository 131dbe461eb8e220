"""What a kubelet may write: the Node authorizer's and the NodeRestriction plugin's rules.

A kubelet owns its Node, its Lease, and the status of the pods bound to it, and nothing else.
"""

from sandbox.kubernetes import kinds
from sandbox.kubernetes.errors import ApiError, forbidden
from sandbox.kubernetes.identity import User
from sandbox.kubernetes.kinds import Kind
from sandbox.kubernetes.objects import Obj, labels_of, name_of, namespace_of

LEASE_NAMESPACE = "kube-node-lease"
_ALLOWED_LABELS = {
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
}
_ALLOWED_PREFIXES = ("node.kubernetes.io", "kubelet.kubernetes.io")
_RESERVED_DOMAINS = ("kubernetes.io", "k8s.io")


def may_set_label(key: str) -> bool:
    """Whether a kubelet may put that label on its own Node."""
    prefix = key.rpartition("/")[0]
    if key in _ALLOWED_LABELS or any(_within(prefix, allowed) for allowed in _ALLOWED_PREFIXES):
        return True
    return not any(_within(prefix, domain) for domain in _RESERVED_DOMAINS)


def _within(prefix: str, domain: str) -> bool:
    return prefix == domain or prefix.endswith(f".{domain}")


def check_write(user: User, kind: Kind, new: Obj, old: Obj | None, subresource: str) -> None:
    """Refuse (403) what a kubelet may not create or change. Other users pass."""
    if not user.node:
        return
    if kind is kinds.NODES:
        _check_node(user, new, old)
    elif kind is kinds.LEASES:
        _check_lease(user, new)
    elif kind is kinds.PODS:
        _check_pod(user, new, subresource)


def check_delete(user: User, kind: Kind, obj: Obj) -> None:
    """Refuse (403) what a kubelet may not delete."""
    if not user.node:
        return
    if kind is kinds.NODES:
        raise forbidden(kind, name_of(obj), f"node {user.node!r} is not allowed to delete itself")
    if kind is kinds.PODS and obj["spec"].get("nodeName") != user.node:
        raise forbidden(kind, name_of(obj), f'node "{user.node}" can only delete pods with spec.nodeName set to itself')
    if kind is kinds.LEASES:
        _check_lease(user, obj)


def _check_node(user: User, new: Obj, old: Obj | None) -> None:
    name = name_of(new)
    if name != user.node:
        raise forbidden(kinds.NODES, name, f'node "{user.node}" is not allowed to modify node "{name}"')
    before = labels_of(old) if old else {}
    changed = {k for k in labels_of(new).keys() | before.keys() if labels_of(new).get(k) != before.get(k)}
    bad = sorted(key for key in changed if not may_set_label(key))
    if bad:
        raise _labels_refused(user, bad, "modify labels" if old else "set the following labels")
    if old is not None and new["spec"].get("taints") != old["spec"].get("taints"):
        raise forbidden(kinds.NODES, name, f'node "{user.node}" is not allowed to modify taints')


def _labels_refused(user: User, bad: list[str], what: str) -> ApiError:
    why = f'node "{user.node}" is not allowed to {what}: {", ".join(bad)}'
    return forbidden(kinds.NODES, user.node, why)


def _check_lease(user: User, lease: Obj) -> None:
    if namespace_of(lease) != LEASE_NAMESPACE:
        why = f'can only access leases in the "{LEASE_NAMESPACE}" system namespace'
        raise forbidden(kinds.LEASES, name_of(lease), why)
    if name_of(lease) != user.node:
        raise forbidden(
            kinds.LEASES, name_of(lease), "can only access node lease with the same name as the requesting node"
        )


def _check_pod(user: User, new: Obj, subresource: str) -> None:
    if new["spec"].get("nodeName") != user.node:
        why = f'node "{user.node}" can only update pod status for pods with spec.nodeName set to itself'
        raise forbidden(kinds.PODS, name_of(new), why)
    is_mirror = "kubernetes.io/config.mirror" in (new["metadata"].get("annotations") or {})
    if subresource != "status" and not is_mirror:
        why = f'node "{user.node}" can only create mirror pods'
        missing = 'pod does not have "kubernetes.io/config.mirror" annotation'
        raise forbidden(kinds.PODS, name_of(new), f"{missing}, {why}")
