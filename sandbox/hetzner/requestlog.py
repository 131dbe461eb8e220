"""A record of the requests that came in, for tests and people to read. It never holds a token's value."""

from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

KEPT = 20_000


@dataclass(frozen=True)
class Entry:
    """`route` is the template the path matched, "" for none; `status` is 0 where the connection was cut.

    `token` is the token's name, None where none or an unknown one came.
    """

    at: datetime
    method: str
    path: str
    query: str
    route: str
    status: int
    project: str | None
    token: str | None

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "at": self.at.isoformat()}


class RequestLog:
    """The last 20,000 requests, oldest first."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=KEPT)

    def add(self, entry: Entry) -> None:
        self._entries.append(entry)

    def clear(self) -> None:
        self._entries.clear()

    def select(self, method: str = "*", path: str = "*", status: int | None = None) -> Iterator[Entry]:
        """Those that match; `path` is a route such as `/servers/{id}` or a pattern such as `/servers/*`."""
        for entry in self._entries:
            here = entry.route == path or fnmatchcase(entry.path, path)
            if here and method in {"*", entry.method} and status in {None, entry.status}:
                yield entry

    def count(self, method: str = "*", path: str = "*", status: int | None = None) -> int:
        return sum(1 for _ in self.select(method, path, status))
