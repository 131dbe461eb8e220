"""Answers gone wrong on demand: throttled, failed, late, or lost after the write."""

from dataclasses import dataclass
from fnmatch import fnmatch

from starlette.responses import PlainTextResponse, Response

from sandbox.kubernetes.errors import ApiError

_REASONS = {500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}


@dataclass
class ApiFault:
    """Spoils the next `count` requests whose method and path match the globs.

    The answer comes `delay` seconds late and has the HTTP status `code`, where 0 means the proper answer.
    With `after_commit` a write has happened all the same.
    """

    method: str = "*"
    path: str = "*"
    code: int = 503
    delay: float = 0.0
    count: int = 1
    after_commit: bool = False

    def hits(self, method: str, path: str) -> bool:
        """Whether this fault spoils that request."""
        return self.count > 0 and fnmatch(method, self.method) and fnmatch(path, self.path)

    def response(self) -> Response:
        """The spoilt answer. Raises ApiError, but for 429: throttling answers in plain text."""
        if self.code == 429:
            return PlainTextResponse("Too many requests, please try again later.", 429, {"Retry-After": "1"})
        raise ApiError(self.code, _REASONS.get(self.code, ""), "the sandbox was told to fail here")


class Faults:
    """The faults to come."""

    def __init__(self) -> None:
        self._faults: list[ApiFault] = []

    def add(self, fault: ApiFault) -> None:
        """Have a fault happen."""
        self._faults.append(fault)

    def clear(self) -> None:
        """Have no faults happen any more."""
        self._faults.clear()

    def take(self, method: str, path: str) -> ApiFault | None:
        """The fault for this request, used up once."""
        for fault in self._faults:
            if fault.hits(method, path):
                fault.count -= 1
                return fault
        return None
