"""Label selectors and node affinity terms: what they say, and whether labels satisfy them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

Labels = Mapping[str, str]
NAME_FIELD = "metadata.name"  # the one field that the API allows in matchFields


class Operator(StrEnum):
    """How a requirement compares a label."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


class Odd(ValueError):
    """A part of an object that says nothing that can be evaluated; its text names the part."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One comparison. All operators but In, Exists, Gt and Lt are also satisfied by a label that is not there."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def met(self, value: str | None) -> bool:
        """Whether a label of this value (None: there is none) satisfies it."""
        match self.operator:
            case Operator.IN:
                return value in self.values
            case Operator.NOT_IN:
                return value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
        return value is not None and self._compared(value)

    def _compared(self, value: str) -> bool:
        try:
            number, bound = int(value), int(self.values[0])
        except ValueError:
            return False  # the scheduler treats what is no integer as a mismatch
        return number > bound if self.operator is Operator.GT else number < bound

    def __str__(self) -> str:
        values = f" {','.join(self.values)}" if self.values else ""
        return f"{self.key} {self.operator}{values}"


@dataclass(frozen=True, slots=True)
class Selector:
    """A label selector over pods of some namespaces. Without requirements it selects all of them."""

    namespaces: tuple[str, ...]
    requirements: tuple[Requirement, ...]

    def selects(self, namespace: str, labels: Labels) -> bool:
        """Whether a pod of this namespace with these labels is meant."""
        return namespace in self.namespaces and all(r.met(labels.get(r.key)) for r in self.requirements)


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """A node selector term: all of it must hold. An empty one matches no node."""

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...] = ()

    def matches(self, name: str, labels: Labels) -> bool:
        """Whether a node of this name with these labels is meant."""
        if not self.labels and not self.fields:
            return False
        return all(r.met(labels.get(r.key)) for r in self.labels) and all(r.met(name) for r in self.fields)

    def __str__(self) -> str:
        return " and ".join(str(requirement) for requirement in (*self.labels, *self.fields)) or "nothing"


def requirements(raw: object) -> tuple[Requirement, ...]:
    """Read `matchExpressions`, in a stable order. Raises Odd."""
    return tuple(sorted((_requirement(item) for item in maps(raw)), key=str))


def selector(namespaces: tuple[str, ...], raw: object) -> Selector | None:
    """Read a LabelSelector; None when there is none, which selects nothing. Raises Odd."""
    if not isinstance(raw, Mapping):
        return None
    equal = [Requirement(str(k), Operator.IN, (str(v),)) for k, v in mapping(raw.get("matchLabels")).items()]
    found = (*equal, *requirements(raw.get("matchExpressions")))
    if any(requirement.operator in (Operator.GT, Operator.LT) for requirement in found):
        raise Odd("a label selector with Gt or Lt")
    return Selector(tuple(sorted(namespaces)), tuple(sorted(found, key=str)))


def node_terms(raw: object) -> tuple[NodeTerm, ...]:
    """Read `nodeSelectorTerms`. Raises Odd."""
    terms = [
        NodeTerm(requirements(term.get("matchExpressions")), requirements(term.get("matchFields")))
        for term in maps(raw)
    ]
    if any(requirement.key != NAME_FIELD for term in terms for requirement in term.fields):
        raise Odd("a node affinity on a field other than metadata.name")
    return tuple(sorted(terms, key=str))


def mapping(raw: object) -> Mapping[str, Any]:
    """`raw` if it is an object, else an empty one."""
    return raw if isinstance(raw, Mapping) else {}


def maps(raw: object) -> list[Mapping[str, Any]]:
    """The objects in `raw` if it is a list, else none."""
    return [item for item in raw if isinstance(item, Mapping)] if isinstance(raw, list) else []


def texts(raw: object) -> list[str]:
    """The texts in `raw` if it is a list, else none."""
    return [str(item) for item in raw] if isinstance(raw, list) else []


def time_of(raw: object) -> datetime | None:
    """A timestamp of the API, or None where there is none."""
    try:
        return datetime.fromisoformat(str(raw)) if raw else None
    except ValueError:
        return None


def _requirement(raw: Mapping[str, Any]) -> Requirement:
    operator, values = raw.get("operator"), texts(raw.get("values"))
    if operator not in tuple(Operator):
        raise Odd(f"a requirement with operator {operator!r}")
    if operator in (Operator.GT, Operator.LT) and len(values) != 1:
        raise Odd(f"a requirement with {operator} and {len(values)} values")
    return Requirement(str(raw.get("key") or ""), Operator(operator), tuple(sorted(values)))
