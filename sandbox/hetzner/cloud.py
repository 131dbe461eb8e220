"""The simulated cloud as an object: its world, its clock, who listens to it, and where it is saved."""

import secrets
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sandbox.clock import Clock
from sandbox.hetzner.effects import settle
from sandbox.hetzner.facts import ServerFacts, facts_of
from sandbox.hetzner.faults import Fault
from sandbox.hetzner.power import remove
from sandbox.hetzner.records import Access, Bucket, Limits, Project, Server, Token
from sandbox.hetzner.requestlog import RequestLog
from sandbox.hetzner.world import Happening, Scope, Timings, World
from sandbox.snapshot import Snapshot

Listener = Callable[[ServerFacts], None]
TOKEN_LENGTH = 64
_TOKEN_CHARACTERS = string.ascii_letters + string.digits


class HetznerCloud:
    """Owns the state. Use it from one event loop; nothing here is thread-safe.

    What was in `state_dir` is taken up again. Without `state_dir` nothing is saved.
    """

    def __init__(self, clock: Clock, state_dir: Path | None = None) -> None:
        self.clock = clock
        self.log = RequestLog()
        self.world = World()
        self._listeners: dict[Happening, list[Listener]] = {"running": [], "stopped": [], "gone": []}
        self._watchers: list[Callable[[], None]] = []
        self._snapshot = None if state_dir is None else Snapshot(state_dir / "hetzner.json", self._dump)
        saved = None if self._snapshot is None else self._snapshot.load()
        if saved is not None:
            self.world = World.model_validate(saved)

    def on_server_running(self, listener: Listener) -> None:
        """Call `listener` whenever a server has booted: first boot, power on, reboot."""
        self._listeners["running"].append(listener)

    def on_server_stopped(self, listener: Listener) -> None:
        """Call `listener` whenever a server went off and still exists."""
        self._listeners["stopped"].append(listener)

    def on_server_gone(self, listener: Listener) -> None:
        """Call `listener` once a server was deleted or vanished."""
        self._listeners["gone"].append(listener)

    def on_change(self, watcher: Callable[[], None]) -> None:
        """Call `watcher` after anything may have changed, so that a driver looks at the agenda again."""
        self._watchers.append(watcher)

    def servers(self) -> Iterator[ServerFacts]:
        """Every server of every project as its own machine sees it, user-data included."""
        for project, server in self._all_servers():
            yield facts_of(project, server)

    def metadata(self, server_id: int) -> ServerFacts | None:
        """What the machine reads from its metadata service; None once it is gone."""
        return next((facts for facts in self.servers() if facts.id == server_id), None)

    def add_project(self, name: str, limits: Limits | None = None) -> Project:
        limits = limits or Limits()
        number = max(self.world.projects, default=0) + 1
        bucket = Bucket(level=limits.requests_per_hour, at=self.clock.now())
        project = Project(id=number, name=name, tokens=[], bucket=bucket, limits=limits)
        self.world.projects[number] = project
        self.changed()
        return project

    def project(self, name: str) -> Project:
        """Raises `KeyError` for an unknown name."""
        for project in self.world.projects.values():
            if project.name == name:
                return project
        raise KeyError(name)

    def add_token(self, project: Project, name: str, access: Access) -> Token:
        value = "".join(secrets.choice(_TOKEN_CHARACTERS) for _ in range(TOKEN_LENGTH))
        token = Token(name=name, value=value, access=access)
        project.tokens.append(token)
        self.changed()
        return token

    def token(self, project: str, name: str) -> Token:
        """Raises `KeyError` for an unknown project or name."""
        for token in self.project(project).tokens:
            if token.name == name:
                return token
        raise KeyError(name)

    def authenticate(self, value: str) -> tuple[Project, Token] | None:
        """The project and token that `value` stands for, None for an unknown or revoked one."""
        for project in self.world.projects.values():
            for token in project.tokens:
                if secrets.compare_digest(token.value.encode(), value.encode()) and not token.revoked:
                    return project, token
        return None

    def scope(self, project: Project) -> Scope:
        return Scope(self.world, project, self.clock.now())

    def set_limits(self, project: Project, limits: Limits) -> None:
        """Change what a project may hold and ask; its budget of requests is full afterwards."""
        project.limits = limits
        project.bucket = Bucket(level=limits.requests_per_hour, at=self.clock.now())

    def add_fault(self, fault: Fault) -> Fault:
        """Put a fault in force; what is returned carries its id and counts."""
        return self.world.faults.add(fault)

    def vanish(self, server_id: int) -> None:
        """Make a server disappear as if the cloud had lost it. Raises `KeyError` when there is none."""
        for project, server in self._all_servers():
            if server.id == server_id:
                remove(self.scope(project), server)
                self.settle()
                return
        raise KeyError(server_id)

    def settle(self) -> None:
        """Carry out what is due by now and tell the listeners, in the order it happened."""
        moved = settle(self.world, self.clock.now())
        events = self.world.take_outbox()
        for happening, facts in events:
            for listener in self._listeners[happening]:
                listener(facts)
        if moved or events:
            self.changed()

    def changed(self) -> None:
        for watcher in self._watchers:
            watcher()

    def save_soon(self) -> None:
        """Have the state written; needs a running loop."""
        if self._snapshot is not None:
            self._snapshot.dirty()

    async def close(self) -> None:
        if self._snapshot is not None:
            await self._snapshot.close()

    def _all_servers(self) -> Iterator[tuple[Project, Server]]:
        for project in self.world.projects.values():
            for server in project.servers.values():
                yield project, server

    def _dump(self) -> dict[str, Any]:
        return self.world.model_dump(mode="json")


def default_cloud(clock: Clock, state_dir: Path | None = None, timings: Timings | None = None) -> HetznerCloud:
    """A cloud with two projects, or the one that `state_dir` already holds.

    Project "demo" has tokens "admin" and "rotated" (read and write) and "viewer" (read only); project
    "other" has "admin". Their values are in `cloud.token("demo", "admin").value`.
    """
    cloud = HetznerCloud(clock, state_dir)
    if not cloud.world.projects:
        demo, other = cloud.add_project("demo"), cloud.add_project("other")
        cloud.add_token(demo, "admin", "read_write")
        cloud.add_token(demo, "rotated", "read_write")
        cloud.add_token(demo, "viewer", "read_only")
        cloud.add_token(other, "admin", "read_write")
    if timings is not None:
        cloud.world.timings = timings
    return cloud
