"""One server listing per project and worker process, shared by all its pools: the request budget is the project's."""

from __future__ import annotations

import asyncio
import math
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime

from hcloud import Client
from hcloud.servers import BoundServer
from temporalio.exceptions import ApplicationError

from activities.failures import Failure
from activities.hetzner_client import Cloud
from activities.project import Projects
from activities.vault import Vault
from core.calls import Health, ProjectRef
from core.cloud_errors import CloudClass
from core.ownership import managed_selector


@dataclass(frozen=True)
class ListedServer:
    """A server as the listing shows it."""

    id: int
    name: str
    status: str
    labels: dict[str, str]


@dataclass(frozen=True)
class Listing:
    """The newest listing. While `health` is not Valid, `servers` are the last known and prove no absence.

    `generation` counts the listings that were read; `refused` says that the cloud refused the token.
    """

    health: Health = Health.UNKNOWN
    refused: bool = False
    message: str = ""
    servers: dict[int, ListedServer] = field(default_factory=dict)
    at: datetime | None = None
    generation: int = 0


class ServerListings:
    """The listings of all projects. None is older than `interval_s` seconds when somebody looks."""

    def __init__(self, cloud: Cloud, vault: Vault, interval_s: float) -> None:
        self.interval_s = interval_s
        self._projects = Projects(cloud, vault)
        self._listings: dict[tuple[str, str], Listing] = {}
        self._read_at: dict[
            tuple[str, str], float
        ] = {}  # monotonic: a clock that is set back must not stop the reading
        self._locks: dict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def look(self, project: ProjectRef) -> Listing:
        """The project's listing; callers at the same time share one request. Never raises for the cloud's failures."""
        key = (project.organization, project.credential)
        async with self._locks[key]:
            known, now = self._listings.get(key, Listing()), time.monotonic()
            if now - self._read_at.get(key, -math.inf) >= self.interval_s:
                known = self._listings[key] = await self._read(project, known)
                self._read_at[key] = now
            return known

    async def _read(self, project: ProjectRef, known: Listing) -> Listing:
        now = datetime.now(UTC)
        try:
            servers = await self._projects.call(project, _list)
        except Failure as error:
            refused = error.failure.cls is CloudClass.CREDENTIAL
            health = Health.INVALID if refused else Health.UNKNOWN
            return Listing(health, refused, str(error.failure), known.servers, now, known.generation)
        except ApplicationError as error:  # the vault: the token could not be had, which says nothing of any server
            return Listing(Health.UNKNOWN, False, error.message, known.servers, now, known.generation)
        # Pages are not one snapshot: a server may be on two of them.
        listed = {server.id: server for server in servers}
        return Listing(Health.VALID, False, "", listed, now, known.generation + 1)


def _list(client: Client) -> list[ListedServer]:
    return [_listed(server) for server in client.servers.get_all(label_selector=managed_selector())]


def _listed(server: BoundServer) -> ListedServer:
    return ListedServer(int(server.id or 0), server.name or "", server.status or "", server.labels or {})
