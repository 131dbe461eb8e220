"""What a burst of machines costs of a project's request budget, read from the simulated cloud's own request log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sandbox.hetzner.requestlog import Entry


@dataclass(frozen=True)
class CallCount:
    """Requests by method and route, such as `GET /servers/{id}`, for a number of machines."""

    machines: int
    by_route: Counter[str]

    @classmethod
    def of(cls, entries: Iterable[Entry], machines: int) -> CallCount:
        """Count `entries`; one that came over the sandbox's own routes is made by `Entry(**row)`."""
        return cls(machines, Counter(f"{entry.method} {entry.route or entry.path}" for entry in entries))

    @property
    def a_machine(self) -> float:
        """Requests for each machine, on average."""
        return self.by_route.total() / self.machines

    def __str__(self) -> str:
        rows = [f"{count:5d}  {route}" for route, count in self.by_route.most_common()]
        return "\n".join([f"{self.a_machine:.2f} requests a machine, of {self.machines}", *rows])
