"""The whole simulated cloud as one value: projects, stock, faults, what is due when, and what happened."""

from bisect import insort
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from pydantic import Field, PrivateAttr

from sandbox.hetzner.facts import ServerFacts, facts_of
from sandbox.hetzner.faults import Faults
from sandbox.hetzner.records import Project, Record, Server
from sandbox.hetzner.stock import Stock

DueKind = Literal["action", "stopped", "vanish"]
Happening = Literal["running", "stopped", "gone"]


class Timings(Record):
    """How long things take, in seconds of the cloud's clock. A server runs `create + start` after its order.

    The real cloud takes 10 to 25 s; the defaults keep a demonstration brisk.
    """

    create: float = 1.2
    start: float = 1.2
    stop: float = 0.5
    shutdown: float = 1.0
    delete: float = 1.0
    network: float = 0.5
    change: float = 0.3


class Due(Record):
    """Something that will happen to `ref` (an action or a server) of `project`."""

    at: datetime
    kind: DueKind
    project: int
    ref: int


class Counters(Record):
    """Last ids given out. Servers count from about 1.0e8, actions need 52 bits, as in the real cloud."""

    server: int = 104_000_000
    action: int = 566_000_000_000_000
    other: int = 12_000_000
    ipv4: int = 0
    ipv6: int = 0


class World(Record):
    """Everything that is saved, and an outbox of server events that are handed on and forgotten."""

    projects: dict[int, Project] = Field(default_factory=dict)
    stock: Stock = Field(default_factory=Stock)
    faults: Faults = Field(default_factory=Faults)
    timings: Timings = Field(default_factory=Timings)
    counters: Counters = Field(default_factory=Counters)
    agenda: list[Due] = Field(default_factory=list)
    _outbox: list[tuple[Happening, ServerFacts]] = PrivateAttr(default_factory=list)

    def schedule(self, due: Due) -> None:
        insort(self.agenda, due, key=lambda item: item.at)

    def next_due(self) -> datetime | None:
        return self.agenda[0].at if self.agenda else None

    def pop_due(self, now: datetime) -> Due | None:
        """The earliest thing that is due by `now`."""
        return self.agenda.pop(0) if self.agenda and self.agenda[0].at <= now else None

    def take_outbox(self) -> list[tuple[Happening, ServerFacts]]:
        events, self._outbox = self._outbox, []
        return events

    def post(self, happening: Happening, facts: ServerFacts) -> None:
        self._outbox.append((happening, facts))


@dataclass(frozen=True)
class Scope:
    """One project at one moment: what every rule works on."""

    world: World
    project: Project
    now: datetime

    def after(self, seconds: float, kind: DueKind, ref: int) -> datetime:
        """Schedule something for `ref` and say when it comes."""
        at = self.now + timedelta(seconds=seconds)
        self.world.schedule(Due(at=at, kind=kind, project=self.project.id, ref=ref))
        return at

    def new_id(self) -> int:
        """For everything but servers and actions."""
        self.world.counters.other += 1
        return self.world.counters.other

    def tell(self, happening: Happening, server: Server) -> None:
        self.world.post(happening, facts_of(self.project, server))
