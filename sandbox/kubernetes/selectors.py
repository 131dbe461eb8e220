"""Field selectors of a query, the `LabelSelector` object, and what both select."""

import re
from collections.abc import Callable, Mapping

from sandbox.kubernetes.errors import bad_request
from sandbox.kubernetes.kinds import JOBS, Kind
from sandbox.kubernetes.label_queries import Requirement, parse_labels
from sandbox.kubernetes.objects import Obj, dig, labels_of

Match = Callable[[Obj], bool]
FieldTerm = tuple[str, bool, str]  # path, whether it must equal, value

_EQUALS = re.compile(r"([^=!]*)(!=|==|=)(.*)", re.DOTALL)
_COMMA = re.compile(r"(?<!\\),")
_ESCAPE = re.compile(r"\\(.?)", re.DOTALL)

_COMMON = ("metadata.name", "metadata.namespace")
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "nodes": ("spec.unschedulable",),
    "secrets": ("type",),
    "namespaces": ("status.phase",),
    "services": ("spec.clusterIP", "spec.type"),
    "jobs.batch": ("status.successful",),
    "certificatesigningrequests.certificates.k8s.io": ("spec.signerName",),
    "events": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
}


def requirements_of(selector: Obj | None) -> list[Requirement] | None:
    """The terms of a `LabelSelector` object; None for no selector, which matches nothing."""
    if selector is None:
        return None
    equal = [Requirement(key, "In", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    return equal + expressions(selector.get("matchExpressions") or [])


def expressions(terms: list[Obj]) -> list[Requirement]:
    """The terms of `matchExpressions`, as selectors and node affinity have them."""
    return [Requirement(t["key"], t["operator"], tuple(t.get("values") or ())) for t in terms]


def selects(selector: Obj | None, obj: Obj) -> bool:
    """Whether a `LabelSelector` object selects `obj`. An empty one selects everything."""
    terms = requirements_of(selector)
    return terms is not None and all(term.holds(labels_of(obj)) for term in terms)


def parse_fields(kind: Kind, text: str) -> list[FieldTerm]:
    """Read a `fieldSelector` parameter: path, whether it must equal, value.

    Raises ApiError 400 for a path that the resource does not index.
    """
    terms = []
    for part in filter(None, _COMMA.split(text)):
        found = _EQUALS.fullmatch(part)
        if not found:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        value = _unescaped(found[3])
        _check_field(kind, found[1])
        terms.append((found[1], found[2] != "!=", value))
    return terms


def _unescaped(value: str) -> str:
    bare = _ESCAPE.sub("", value)
    for escaped in _ESCAPE.findall(value):
        if escaped not in ("\\", ",", "="):
            raise bad_request(f"invalid field selector: invalid escape sequence: \\{escaped}")
    if "=" in bare:
        raise bad_request(f"invalid field selector: unescaped character in value: {ord('=')}")
    return _ESCAPE.sub(r"\1", value)


def _check_field(kind: Kind, path: str) -> None:
    own = _FIELDS.get(kind.storage)
    if own is None:
        if path not in _COMMON:
            raise bad_request(f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"')
        return
    known = (*(_COMMON if kind.namespaced else _COMMON[:1]), *own)
    if path in known:
        return
    if kind is JOBS:
        raise bad_request(f'field label "{path}" not supported for Job')
    raise bad_request(f"field label not supported: {path}")


def field_value(obj: Obj, path: str) -> str:
    """An indexed field as the text that selectors compare with; absent reads as empty."""
    if path == "source":
        return str(dig(obj, ("source", "component")) or "")
    value = dig(obj, path.split("."))
    if isinstance(value, bool) or path in ("spec.unschedulable", "spec.hostNetwork"):
        return "true" if value else "false"
    return "" if value is None else str(value)


def matcher(kind: Kind, labels: str, fields: str) -> Match | None:
    """The filter for a list or a watch, None when everything matches. Raises ApiError 400."""
    return matcher_of(parse_labels(labels), parse_fields(kind, fields))


def matcher_of(label_terms: list[Requirement], field_terms: list[FieldTerm]) -> Match | None:
    """The filter that terms make, None when everything matches."""
    if not label_terms and not field_terms:
        return None

    def matches(obj: Obj) -> bool:
        found = labels_of(obj)
        return all(term.holds(found) for term in label_terms) and all(
            (field_value(obj, path) == value) is equal for path, equal, value in field_terms
        )

    return matches
