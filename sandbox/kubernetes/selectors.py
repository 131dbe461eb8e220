"""Label and field selectors: the query-string grammar and the `LabelSelector` object."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sandbox.kubernetes.errors import ApiError, bad_request
from sandbox.kubernetes.kinds import Kind
from sandbox.kubernetes.objects import Obj, dig, labels_of

Match = Callable[[Obj], bool]

_SETS = re.compile(r"^(\S+)\s+(in|notin)\s*\(([^()]*)\)$")
_EQUALS = re.compile(r"^([^=!\s<>]+)\s*(==|=|!=)\s*(\S*)$")
_PRESENCE = re.compile(r"^(!?)\s*([^=!\s<>,()]+)$")
_COMPARES = re.compile(r"^([^=!\s<>]+)\s*([<>])\s*(-?\d+)$")
_COMMA = re.compile(r",(?![^(]*\))")

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
    "jobs.batch": ("status.successful",),
    "replicasets.apps": ("status.replicas",),
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


@dataclass(frozen=True)
class Requirement:
    """One term on a label: operator `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether labels satisfy the term. An absent key satisfies `NotIn` and `DoesNotExist` only."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
        return value is not None and _compares(value, self.operator, self.values[0])


def _compares(value: str, operator: str, bound: str) -> bool:
    try:
        left, right = int(value), int(bound)
    except ValueError:
        return False
    return left > right if operator == "Gt" else left < right


def parse_labels(text: str) -> list[Requirement]:
    """Read a `labelSelector` parameter. Raises ApiError 400 on a syntax error."""
    return [_term(part.strip(), text) for part in _COMMA.split(text) if part.strip()]


def _term(part: str, whole: str) -> Requirement:
    if found := _SETS.match(part):
        values = tuple(value.strip() for value in found[3].split(","))
        return Requirement(found[1], "In" if found[2] == "in" else "NotIn", values)
    if found := _EQUALS.match(part):
        return Requirement(found[1], "NotIn" if found[2] == "!=" else "In", (found[3],))
    if found := _COMPARES.match(part):
        return Requirement(found[1], "Gt" if found[2] == ">" else "Lt", (found[3],))
    if found := _PRESENCE.match(part):
        return Requirement(found[2], "DoesNotExist" if found[1] else "Exists")
    raise bad_request(f"unable to parse requirement: invalid label selector {whole!r}")


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


def parse_fields(kind: Kind, text: str) -> list[tuple[str, bool, str]]:
    """Read a `fieldSelector` parameter: path, whether it must equal, value.

    Raises ApiError 400 for a path that the resource does not index.
    """
    known = _COMMON + _FIELDS.get(kind.storage, ())
    terms = []
    for part in filter(None, text.split(",")):
        found = _EQUALS.match(part.strip())
        if not found:
            raise bad_request(f"invalid field selector: {text!r}")
        if found[1] not in known:
            raise _unsupported(kind, text, found[1])
        terms.append((found[1], found[2] != "!=", found[3]))
    return terms


def _unsupported(kind: Kind, text: str, path: str) -> ApiError:
    which = f"{kind.group}/{kind.version}, Resource={kind.plural}"
    searched = f'label selector "", field selector "{text}"'
    return bad_request(f'Unable to find "{which}" that match {searched}: field label not supported: {path}')


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
    label_terms, field_terms = parse_labels(labels), parse_fields(kind, fields)
    if not label_terms and not field_terms:
        return None

    def matches(obj: Obj) -> bool:
        found = labels_of(obj)
        return all(term.holds(found) for term in label_terms) and all(
            (field_value(obj, path) == value) is equal for path, equal, value in field_terms
        )

    return matches
