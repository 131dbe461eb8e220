"""Which node a pod tolerates and asks for, by taints, node selector and node affinity. Pure."""

from collections.abc import Iterable

from sandbox.kubernetes.objects import Obj, dig, labels_of, name_of
from sandbox.kubernetes.selectors import expressions

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


def tolerates(toleration: Obj, taint: Obj) -> bool:
    """Whether one toleration covers one taint."""
    if toleration.get("effect", "") not in ("", taint["effect"]):
        return False
    key = toleration.get("key", "")
    if toleration.get("operator", "Equal") == "Exists":
        return key in ("", taint["key"])
    return bool(key == taint["key"] and toleration.get("value", "") == taint.get("value", ""))


def untolerated(tolerations: Iterable[Obj], taints: Iterable[Obj], effects: tuple[str, ...]) -> Obj | None:
    """The first taint of those effects that nothing tolerates."""
    listed = list(tolerations)
    for taint in taints:
        if taint["effect"] in effects and not any(tolerates(toleration, taint) for toleration in listed):
            return taint
    return None


def wants_node(spec: Obj, node: Obj) -> bool:
    """Whether a pod's node selector and required node affinity match a node."""
    labels = labels_of(node)
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    terms = dig(spec, path) if "affinity" in spec else None
    return terms is None or any(_term_matches(term, node) for term in terms)


def _term_matches(term: Obj, node: Obj) -> bool:
    on_labels = expressions(term.get("matchExpressions") or [])
    on_fields = expressions(term.get("matchFields") or [])
    if not on_labels and not on_fields:
        return False
    fields = {"metadata.name": name_of(node)}
    labels = labels_of(node)
    return all(t.holds(labels) for t in on_labels) and all(t.holds(fields) for t in on_fields)
