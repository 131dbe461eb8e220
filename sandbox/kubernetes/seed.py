"""What every cluster holds from its first moment."""

from sandbox.kubernetes import kinds
from sandbox.kubernetes.bootstrap_roles import AGAIN, ASKS, FIRST, bindings
from sandbox.kubernetes.certificates import Authority
from sandbox.kubernetes.controllers.garbage import furnish
from sandbox.kubernetes.objects import Obj
from sandbox.kubernetes.registry import Registry

_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_JOINING = {
    ASKS: ("certificatesigningrequests", ["create", "get", "list", "watch"]),
    FIRST: ("certificatesigningrequests/nodeclient", ["create"]),
    AGAIN: ("certificatesigningrequests/selfnodeclient", ["create"]),
}


def seed(registry: Registry, authority: Authority) -> None:
    """Create the namespaces, service accounts, priority classes and the published authority."""
    for name in _NAMESPACES:
        registry.create(kinds.NAMESPACES, "", {"metadata": {"name": name}})
        furnish(registry, name, authority.pem)
    for name, value in _PRIORITIES.items():
        registry.create(kinds.PRIORITY_CLASSES, "", {"metadata": {"name": name}, "value": value})
    admin: Obj = {"metadata": {"name": "cluster-admin"}}
    admin["rules"] = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    registry.create(kinds.CLUSTER_ROLES, "", admin)
    for name, (resource, verbs) in _JOINING.items():
        rule = {"apiGroups": ["certificates.k8s.io"], "resources": [resource], "verbs": verbs}
        registry.create(kinds.CLUSTER_ROLES, "", {"metadata": {"name": name}, "rules": [rule]})
    for binding in bindings():
        registry.create(kinds.CLUSTER_ROLE_BINDINGS, "", binding)
