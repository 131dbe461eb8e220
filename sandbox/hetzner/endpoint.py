"""What a route is: a method, a path, and a function from a call to a reply. Nothing here knows of HTTP servers."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from sandbox.hetzner.world import Scope


@dataclass(frozen=True)
class Query:
    """The query string, in which a key may come several times."""

    pairs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Query":
        return cls(tuple(parse_qsl(text, keep_blank_values=True)))

    def first(self, key: str) -> str | None:
        return next((value for name, value in self.pairs if name == key), None)

    def all(self, key: str) -> list[str]:
        return [value for name, value in self.pairs if name == key]


@dataclass(frozen=True)
class Call:
    """A request that passed the door: `ids` are the numbers in its path, `url` is what `Link` builds on."""

    scope: Scope
    ids: dict[str, int]
    query: Query
    body: dict[str, Any]
    url: str

    @property
    def id(self) -> int:
        return self.ids["id"]


@dataclass(frozen=True)
class Reply:
    """`body` None is an empty reply, as for 204."""

    status: int
    body: dict[str, Any] | None
    headers: dict[str, str] = field(default_factory=dict)


Handler = Callable[[Call], Reply]


@dataclass(frozen=True)
class Endpoint:
    """`template` is a path under `/v1`, such as `/servers/{id}`; its names stand for numbers."""

    method: str
    template: str
    handler: Handler

    def match(self, path: str) -> dict[str, int] | None:
        found = _pattern(self.template).fullmatch(path)
        return None if found is None else {name: int(text) for name, text in found.groupdict().items()}


_patterns: dict[str, re.Pattern[str]] = {}


def _pattern(template: str) -> re.Pattern[str]:
    if template not in _patterns:
        # 19 digits hold any 64-bit id; longer ones are nobody's.
        _patterns[template] = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[0-9]{1,19})", template))
    return _patterns[template]


def ok(body: dict[str, Any]) -> Reply:
    return Reply(200, body)


def created(body: dict[str, Any]) -> Reply:
    return Reply(201, body)


NO_CONTENT = Reply(204, None)
