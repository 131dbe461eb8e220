"""One list and watch of a cluster's nodes in each worker process, shared by every activity that looks at nodes."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import suppress

from temporalio.exceptions import ApplicationError

from activities.cluster_api import ClusterApi, ClusterApis
from activities.cluster_errors import ClusterError
from activities.node_facts import NodeFacts
from core.calls import ClusterRef, Health

_NODES = "/api/v1/nodes"
WATCH_S = 240
PAUSE_S = (1.0, 30.0)  # first and longest pause after a failure
IDLE_S = 900.0  # a cluster that nobody asks for any more, deregistered perhaps, is not watched for longer


class NodeCache:
    """A cluster's nodes by name. While `health` is not Valid they are the last known, and prove no absence.

    `generation` grows with each change of a node or of the health; 0 means that nothing was looked at yet.
    """

    def __init__(self, apis: ClusterApis, cluster: ClusterRef) -> None:
        self._apis = apis
        self._cluster = cluster
        self._changed = asyncio.Condition()
        self._used = time.monotonic()
        self.nodes: dict[str, NodeFacts] = {}
        self.health = Health.UNKNOWN
        self.message = "not looked yet"
        self.generation = 0
        self._task = asyncio.create_task(self._run(), name=f"nodes of {cluster.cluster}")

    @property
    def ended(self) -> bool:
        """Whether it no longer watches."""
        return self._task.done()

    async def wait_change(self, since: int, seconds: float) -> int:
        """Wait until something changed after generation `since`, at most so long. Returns the generation."""
        self._used = time.monotonic()
        async with self._changed:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._changed.wait_for(lambda: self.generation != since)
        return self.generation

    async def close(self) -> None:
        """Stop watching."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    @property
    def _wanted(self) -> bool:
        return time.monotonic() - self._used < IDLE_S

    async def _run(self) -> None:
        try:
            await self._keep_watching()
        finally:
            # However it ended: what is known grows old from here on and must not pass for the present.
            await self._note(Health.UNKNOWN, "no longer watched")

    async def _keep_watching(self) -> None:
        failures = 0
        while self._wanted:
            try:
                api = await self._apis.get(self._cluster)
                version = await self._list(api)
                failures = 0
                await self._follow(api, version)
                continue
            except ClusterError as error:
                if error.status == 410:
                    continue  # the watch fell behind what the server keeps: list again
                failures += 1
                await self._note_failure(error, failures)
            except ApplicationError as error:  # from the vault: the kubeconfig could not be had
                failures += 1
                await self._note(Health.UNKNOWN, error.message)
            pause = min(PAUSE_S[0] * 2 ** min(failures - 1, 10), PAUSE_S[1])
            await asyncio.sleep(pause * random.uniform(0.8, 1.2))

    async def _note_failure(self, error: ClusterError, failures: int) -> None:
        if error.status in (401, 403):
            await self._note(Health.INVALID, error.message)
        elif failures > 1 or self.generation == 0:
            # A single broken connection is an API server's restart, and known again a second later.
            await self._note(Health.UNKNOWN, error.message)

    async def _list(self, api: ClusterApi) -> str:
        listed = await api.get(_NODES)
        nodes = {node.name: node for node in map(NodeFacts.of, listed["items"])}
        news, self.nodes = nodes != self.nodes, nodes
        await self._note(Health.VALID, "")
        if news:
            await self._tell()
        return str(listed["metadata"]["resourceVersion"])

    async def _follow(self, api: ClusterApi, version: str) -> None:
        """Follow the watch, opened anew each time the server ends it, until another kubeconfig is stored."""
        while self._wanted and api is await self._apis.get(self._cluster):
            async for event in api.watch(_NODES, version, WATCH_S):
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    await self._take(event["type"], NodeFacts.of(event["object"]))
            await asyncio.sleep(PAUSE_S[0])  # a server that ends every watch at once must not be asked in a rush

    async def _take(self, kind: str, node: NodeFacts) -> None:
        if kind == "DELETED":
            self.nodes.pop(node.name, None)
        elif self.nodes.get(node.name) == node:
            return  # kubelets write their node every few minutes as it was
        else:
            self.nodes[node.name] = node
        await self._tell()

    async def _note(self, health: Health, message: str) -> None:
        if (health, message) != (self.health, self.message):
            self.health, self.message = health, message
            await self._tell()

    async def _tell(self) -> None:
        async with self._changed:
            self.generation += 1
            self._changed.notify_all()


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
