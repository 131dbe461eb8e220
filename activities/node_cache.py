"""One list and watch of a cluster's nodes in each worker process, shared by every activity that looks at nodes."""

from __future__ import annotations

import time

from activities.changes import Changes
from activities.cluster_api import ClusterApis
from activities.cluster_objects import Objects
from activities.node_facts import NodeFacts
from activities.reflector import Reflector
from core.calls import ClusterRef, Health

_NODES = "/api/v1/nodes"
IDLE_S = 900.0  # a cluster that nobody asks for any more, deregistered perhaps, is not watched for longer


class NodeCache:
    """A cluster's nodes by name. While `health` is not Valid they are the last known, and prove no absence.

    `generation` grows with each change of a node or of the health; 0 means that nothing was looked at yet.
    """

    def __init__(self, apis: ClusterApis, cluster: ClusterRef) -> None:
        self._changes = Changes()
        self._used = time.monotonic()
        self._objects = Objects(NodeFacts.of, lambda changes: self._changes.note())
        self.health = Health.UNKNOWN
        self.message = "not looked yet"
        self._reflector = Reflector(
            apis,
            cluster,
            _NODES,
            self._objects,
            noted=self._note,
            wanted=lambda: time.monotonic() - self._used < IDLE_S,
        )

    @property
    def nodes(self) -> dict[str, NodeFacts]:
        """The nodes by name."""
        return self._objects.known

    @property
    def generation(self) -> int:
        """How many changes there were."""
        return self._changes.count

    @property
    def ended(self) -> bool:
        """Whether it no longer watches."""
        return self._reflector.ended

    async def wait_change(self, since: int, seconds: float) -> int:
        """Wait until something changed after generation `since`, at most so long. Returns the generation."""
        self._used = time.monotonic()
        return await self._changes.wait(since, seconds)

    async def close(self) -> None:
        """Stop watching."""
        await self._reflector.close()

    def _note(self, health: Health, message: str) -> None:
        if (health, message) != (self.health, self.message):
            self.health, self.message = health, message
            self._changes.note()


class NodeCaches:
    """The caches of all clusters, each started at its first use. Ask at each look: one that ended is begun anew."""

    def __init__(self, apis: ClusterApis) -> None:
        self._apis = apis
        self._caches: dict[tuple[str, str], NodeCache] = {}

    def of(self, cluster: ClusterRef) -> NodeCache:
        """The cache of `cluster`."""
        key = (cluster.organization, cluster.cluster)
        known = self._caches.get(key)
        if known is None or known.ended:
            known = self._caches[key] = NodeCache(self._apis, cluster)
        return known

    async def close(self) -> None:
        """Stop all watches."""
        for cache in self._caches.values():
            await cache.close()
        self._caches.clear()
