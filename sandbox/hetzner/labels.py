"""Labels of resources: what a valid set is, and the selector language that lists are filtered with.

Selectors are `k=v`, `k==v`, `k!=v`, `k`, `!k`, `k in (a,b)` and `k notin (a,b)` joined by commas. As in
Kubernetes, `!=` and `notin` also match a resource that lacks the key; the API's documentation leaves it open.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from sandbox.hetzner.errors import ApiError, invalid_input

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_PREFIX_PART = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_WORD = re.compile(r"[A-Za-z0-9._/-]+")
_SPACE = re.compile(r"\s*")
_OPERATOR = re.compile(r"==|!=|=|(?:in|notin)(?=[\s(])")
RESERVED_PREFIX = "hetzner.cloud"

Labels = Mapping[str, str]
Operator = Literal["exists", "absent", "in", "notin"]


def check_labels(labels: Labels) -> None:
    """Raises `ApiError` invalid_input for the first key or value that is not allowed."""
    for key, value in labels.items():
        if not _valid_key(key):
            raise invalid_input("labels", f"label key '{key}' is not valid")
        if value and not _NAME.fullmatch(value):
            raise invalid_input("labels", f"label value '{value}' of key '{key}' is not valid")


def _valid_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if not _NAME.fullmatch(name):
        return False
    return not slash or (_valid_prefix(prefix) and not _reserved(prefix))


def _valid_prefix(prefix: str) -> bool:
    return len(prefix) <= 253 and all(_PREFIX_PART.fullmatch(part) for part in prefix.split("."))


def _reserved(prefix: str) -> bool:
    return prefix == RESERVED_PREFIX or prefix.endswith("." + RESERVED_PREFIX)


@dataclass(frozen=True)
class Requirement:
    """One condition of a selector."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Labels) -> bool:
        present = self.key in labels
        if self.operator == "exists":
            return present
        if self.operator == "absent":
            return not present
        hit = present and labels[self.key] in self.values
        return hit if self.operator == "in" else not hit


def parse_selector(text: str) -> Callable[[Labels], bool]:
    """The predicate a selector stands for; an empty selector matches everything.

    Raises `ApiError` invalid_input saying what was expected and at which position, counted from 0.
    """
    requirements = _Parser(text).parse()
    return lambda labels: all(requirement.matches(labels) for requirement in requirements)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def parse(self) -> list[Requirement]:
        self._take(_SPACE)
        if self._at == len(self._text):
            return []
        found = [self._requirement()]
        while self._at < len(self._text):
            self._expect(",", "comma")
            found.append(self._requirement())
        return found

    def _requirement(self) -> Requirement:
        if self._accept("!"):
            return Requirement(self._key(), "absent")
        key = self._key()
        operator = self._take(_OPERATOR)
        if operator is None:
            return Requirement(key, "exists")
        values = self._values() if operator in {"in", "notin"} else frozenset({self._value()})
        return Requirement(key, "in" if operator in {"=", "==", "in"} else "notin", values)

    def _key(self) -> str:
        start = self._at
        key = self._take(_WORD)
        name = "" if key is None else key.rpartition("/")[2]
        if key is None or not _NAME.fullmatch(name):
            raise self._error("key", start)
        return key

    def _value(self) -> str:
        start = self._at
        value = self._take(_WORD) or ""
        if value and not _NAME.fullmatch(value):
            raise self._error("value", start)
        return value

    def _values(self) -> frozenset[str]:
        self._expect("(", "opening parenthesis")
        values = {self._value()}
        while self._accept(","):
            values.add(self._value())
        self._expect(")", "closing parenthesis")
        return frozenset(values)

    def _expect(self, character: str, name: str) -> None:
        if not self._accept(character):
            raise self._error(name, self._at)

    def _accept(self, character: str) -> bool:
        return self._take(re.compile(re.escape(character))) is not None

    def _take(self, pattern: re.Pattern[str]) -> str | None:
        """Consume what `pattern` matches here and the white space behind it."""
        match = pattern.match(self._text, self._at)
        if match is None:
            return None
        space = _SPACE.match(self._text, match.end())
        self._at = match.end() if space is None else space.end()
        return match.group()

    def _error(self, expected: str, position: int) -> ApiError:
        return ApiError(
            "invalid_input",
            f"invalid label_selector: expected {expected} at pos {position}",
            {"fields": [{"name": "label_selector", "messages": [f"expected {expected} at pos {position}"]}]},
        )
