"""Terms on labels, and the `labelSelector` of a query, whose faults are worded as the server does."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sandbox.kubernetes.errors import bad_request
from sandbox.kubernetes.names import label_key_faults, label_value_faults

_TOKENS = re.compile(r"\s*(==|!=|[=!(),<>]|[^=!(),<>\s]+)")
_SYMBOLS = frozenset(("==", "!=", "=", "!", "(", ")", ",", "<", ">"))
_OPERATORS = {"=": "In", "==": "In", "!=": "NotIn", "in": "In", "notin": "NotIn", ">": "Gt", "<": "Lt"}
_SETS, _END = ("in", "notin"), ""


class _Fault(ValueError):
    """The text of one requirement is wrong."""


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
    """The requirements of a selector. Raises ApiError 400."""
    tokens = _Tokens(text)
    terms: list[Requirement] = []
    while tokens.next != _END:
        if not (tokens.is_word or tokens.next == "!"):
            wanted = "identifier after ','" if terms else "!, identifier, or 'end of string'"
            raise bad_request(f"found '{tokens.next}', expected: {wanted}")
        try:
            terms.append(_term(tokens))
        except _Fault as fault:
            raise bad_request(f"unable to parse requirement: {fault}") from fault
        after = tokens.take()
        if after == "," and tokens.next == _END:
            raise bad_request("found '', expected: identifier after ','")
        if after not in (",", _END):
            raise bad_request(f"found '{after}', expected: ',' or 'end of string'")
    return terms


class _Tokens:
    """The words and symbols of a selector, one after the other; the end is an empty text."""

    def __init__(self, text: str) -> None:
        self._left: list[str] = [*_TOKENS.findall(text), _END]

    @property
    def next(self) -> str:
        return self._left[0]

    @property
    def is_word(self) -> bool:
        return self.next != _END and self.next not in _SYMBOLS

    def take(self) -> str:
        return self._left.pop(0) if len(self._left) > 1 else _END


def _term(tokens: _Tokens) -> Requirement:
    absent = tokens.next == "!"
    if absent:
        tokens.take()
    key = _word(tokens)
    faults = [f'<nil>: Invalid value: "{key}": {fault}' for fault in label_key_faults(key)]
    if faults:
        raise _Fault(_joined(faults))
    if absent:
        return Requirement(key, "DoesNotExist")
    if tokens.next in (_END, ","):
        return Requirement(key, "Exists")
    sign = tokens.take()
    if sign not in _OPERATORS:
        raise _Fault(f"found '{sign}', expected: in, notin, =, ==, !=, gt, lt")
    values = tuple(dict.fromkeys(_values(tokens) if sign in _SETS else (_value(tokens),)))
    faults = list(_value_faults(key, _OPERATORS[sign], values))
    if faults:
        raise _Fault(_joined(faults))
    return Requirement(key, _OPERATORS[sign], values)


def _word(tokens: _Tokens) -> str:
    if not tokens.is_word:
        raise _Fault(f"found '{tokens.next}', expected: identifier")
    return tokens.take()


def _value(tokens: _Tokens) -> str:
    return "" if tokens.next in (_END, ",") else _word(tokens)


def _values(tokens: _Tokens) -> Iterator[str]:
    """The values in brackets; where nothing stands between commas, that is an empty one."""
    opened = tokens.take()
    if opened != "(":
        raise _Fault(f"found '{opened}' expected: '('")
    while True:
        if tokens.is_word:
            yield tokens.take()
            if tokens.next not in (",", ")"):
                raise _Fault(f"found '{tokens.next}', expected: ',' or ')'")
        elif tokens.next in (",", ")"):
            yield ""
        else:
            raise _Fault(f"found '{tokens.next}', expected: ',', or identifier")
        if tokens.take() == ")":
            return


def _value_faults(key: str, operator: str, values: tuple[str, ...]) -> Iterator[str]:
    if operator in ("Gt", "Lt"):
        if not re.fullmatch("[+-]?[0-9]+", values[0]):
            why = "for 'Gt', 'Lt' operators, the value must be an integer"
            yield f'values[0]: Invalid value: "{values[0]}": {why}'
        return
    for index, value in enumerate(values):
        yield from (f'values[{index}][{key}]: Invalid value: "{value}": {f}' for f in label_value_faults(value))


def _joined(faults: list[str]) -> str:
    return faults[0] if len(faults) == 1 else "[" + ", ".join(faults) + "]"
