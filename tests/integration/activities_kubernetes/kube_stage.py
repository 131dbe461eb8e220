"""The Kubernetes-side activities over a cluster of either kind: real client, HTTP between, no Temporal server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from pydantic import BaseModel
from temporalio.testing import ActivityEnvironment

from activities.cluster_api import ClusterApis
from activities.kube_events import EventWriter
from activities.node_cache import NodeCaches
from activities.vault import ClusterAccess, Vault
from core.calls import ClusterRef, Connection, JoinMethod, ProjectRef
from core.sealing import SealedSecret
from tests.cluster_world import World

CLUSTER = ClusterRef(organization="acme", cluster="prod")
Given = TypeVar("Given", bound=BaseModel)
Answer = TypeVar("Answer", bound=BaseModel)


class OpenVault:
    """Hands out one kubeconfig in the way of the vault; a new `version` is a kubeconfig that was stored anew."""

    def __init__(self, kubeconfig: str, join: JoinMethod, endpoint: str, version: str) -> None:
        self.kubeconfig = kubeconfig
        self.version = 1
        self.cloud_token = ""
        self._join, self._endpoint, self._cluster_version = join, endpoint, version

    async def access(self, cluster: ClusterRef) -> ClusterAccess:
        connection = Connection(
            sealed=self.sealed,
            cluster_id="cluster-uid",
            join=self._join,
            api_endpoint=self._endpoint,
            version=self._cluster_version,
        )
        return ClusterAccess(self.kubeconfig, connection)

    async def token(self, project: ProjectRef) -> str:
        return self.cloud_token

    def open_kubeconfig(self, cluster: ClusterRef, sealed: SealedSecret) -> str:
        return self.kubeconfig

    @property
    def sealed(self) -> SealedSecret:
        return SealedSecret(key_id="test", version=str(self.version), ciphertext="sealed")


@dataclass
class Stage:
    """A cluster, and the clients that the activities of one worker share."""

    world: World
    vault: OpenVault
    apis: ClusterApis
    caches: NodeCaches
    events: EventWriter
    beats: list[Any] = field(default_factory=list)

    @property
    def trusted(self) -> Vault:
        """The vault as the activities' constructors want it."""
        return cast("Vault", self.vault)

    async def run(self, call: Callable[[Given], Awaitable[Answer]], argument: Given) -> Answer:
        """Run an activity to its end."""
        environment = ActivityEnvironment()
        environment.on_heartbeat = lambda *details: self.beats.append(details)
        return cast("Answer", await environment.run(call, argument))


@asynccontextmanager
async def staged(world: World, join: JoinMethod | None = None) -> AsyncIterator[Stage]:
    """A stage on a cluster, whose machines join as they do there unless `join` says otherwise."""
    vault = OpenVault(world.kubeconfig.read_text(), join or world.join, world.url, world.version)
    apis = ClusterApis(cast("Vault", vault))
    caches = NodeCaches(apis)
    events = EventWriter(apis)
    try:
        yield Stage(world, vault, apis, caches, events)
    finally:
        await events.close()
        await caches.close()
        await apis.close()
