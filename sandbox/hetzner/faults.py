"""Trouble on demand: what shall go wrong, where, and how often.

A fault that names neither `count` nor `rate` hits everything that matches until it is cleared. With `rate`
the draw depends on `seed` and on how many requests matched before, so a run can be repeated exactly.
"""

import random
from fnmatch import fnmatchcase
from typing import Any, Literal

from pydantic import Field

from sandbox.hetzner.records import Record

RouteFault = Literal["error", "html", "reset", "slow"]
WorldFault = Literal["action_error", "stuck_initializing", "late_nic", "vanish", "stale_list", "duplicate_name"]
ROUTE_FAULTS: frozenset[str] = frozenset({"error", "html", "reset", "slow"})


class Fault(Record):
    """One fault. Which fields count depends on `kind`:

    * `error`: reply with `code` (`status`, `message`, `details`); `html`: a proxy's page with `status`;
      `reset`: cut the connection; `slow`: answer after `seconds` of real time, the work being done at once.
      With `after_commit` the request is carried out before an error, page or reset hides its answer.
      These match on `method` and `path` (a route such as `/servers/{id}`, or a pattern with `*`).
    * `action_error`: the action `command` ends in error `code`; on `start_server` the server stays off.
    * `stuck_initializing`: a server never leaves that status. `late_nic`: its private card comes `seconds`
      late. `vanish`: it disappears `seconds` after it ran. `stale_list`: lists show it `seconds` late.
      `duplicate_name`: a placement group is made although its name is taken.
      These match on `name`, a pattern for the server's (or group's) name.
    """

    id: int = 0
    kind: RouteFault | WorldFault
    method: str = "*"
    path: str = "*"
    name: str = "*"
    command: str = "*"
    code: str = "unknown_error"
    message: str = ""
    details: dict[str, Any] | None = None
    status: int | None = None
    seconds: float = 0.0
    after_commit: bool = False
    skip: int = Field(default=0, ge=0)
    count: int | None = Field(default=None, ge=1)
    rate: float | None = Field(default=None, gt=0, le=1)
    seed: int = 0
    matched: int = 0
    fired: int = 0

    def strikes(self) -> bool:
        """Count one more match and say whether this one is hit."""
        self.matched += 1
        if self.matched <= self.skip or (self.count is not None and self.fired >= self.count):
            return False
        if self.rate is not None and random.Random(f"{self.seed}/{self.matched}").random() >= self.rate:
            return False
        self.fired += 1
        return True


class Faults(Record):
    """The faults in force; the first one that matches and strikes wins."""

    active: list[Fault] = Field(default_factory=list)
    last_id: int = 0

    def add(self, fault: Fault) -> Fault:
        self.last_id += 1
        added = fault.model_copy(update={"id": self.last_id, "matched": 0, "fired": 0})
        self.active.append(added)
        return added

    def clear(self, fault_id: int | None = None) -> None:
        """Drop one fault, or all of them."""
        self.active = [fault for fault in self.active if fault_id is not None and fault.id != fault_id]

    def on_route(self, method: str, route: str, path: str) -> Fault | None:
        """The fault that hits this request; `route` is the template that `path` matched."""
        for fault in self.active:
            here = fault.path == route or fnmatchcase(path, fault.path)
            if fault.kind in ROUTE_FAULTS and fault.method in {"*", method} and here and fault.strikes():
                return fault
        return None

    def on_name(self, kind: WorldFault, name: str) -> Fault | None:
        for fault in self.active:
            if fault.kind == kind and fnmatchcase(name, fault.name) and fault.strikes():
                return fault
        return None

    def on_action(self, command: str, server_name: str) -> Fault | None:
        for fault in self.active:
            here = fnmatchcase(command, fault.command) and fnmatchcase(server_name, fault.name)
            if fault.kind == "action_error" and here and fault.strikes():
                return fault
        return None
