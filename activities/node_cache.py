"""One list and watch of a cluster's nodes in each worker process, shared by every activity that looks at nodes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from temporalio.exceptions import ApplicationError

from activities.cluster_api import ClusterApis
from activities.cluster_errors import ClusterError
from activities.node_facts import NodeFacts
from core.calls import ClusterRef, Health

_NODES = "/api/v1/nodes"
WATCH_S = 240
PAUSE_S = (1.0, 30.0)  # first and longest pause after a failure


class NodeCache:
    """A cluster's nodes by UID. While `health` is not Valid they are the last known, and prove no absence."""

    def __init__(self, apis: ClusterApis, cluster: ClusterRef) -> None:
        self._apis = apis
        self._cluster = cluster
        self._changed = asyncio.Condition()
        self.nodes: dict[str, NodeFacts] = {}
        self.health = Health.UNKNOWN
        self.message = "not looked yet"
        self.generation = 0
        self._task = asyncio.create_task(self._run(), name=f"nodes of {cluster.cluster}")

    def find(self, wanted: Callable[[NodeFacts], bool]) -> NodeFacts | None:
        """The first node that is `wanted`."""
        return next((node for node in self.nodes.values() if wanted(node)), None)

    async def wait_change(self, since: int, seconds: float) -> int:
        """Wait until something changed after generation `since`, at most so long. Returns the generation."""
        async with self._changed:
            try:
                async with asyncio.timeout(seconds):
                    await self._changed.wait_for(lambda: self.generation != since)
            except TimeoutError:
                pass
        return self.generation

    async def close(self) -> None:
        """Stop watching."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        pause = PAUSE_S[0]
        while True:
            try:
                await self._list_and_watch()
                pause = PAUSE_S[0]
            except ClusterError as error:
                if error.status == 410:
                    continue  # the watch fell behind what the server keeps: list again
                await self._note(Health.INVALID if error.status in (401, 403) else Health.UNKNOWN, error.message)
            except ApplicationError as error:  # from the vault: the kubeconfig could not be had
                await self._note(Health.UNKNOWN, error.message)
            await asyncio.sleep(pause * random.uniform(0.8, 1.2))
            pause = min(pause * 2, PAUSE_S[1])

    async def _list_and_watch(self) -> None:
        """List, then follow the watch for as long as the server keeps it open, again and again."""
        api = await self._apis.get(self._cluster)
        listed = await api.get(_NODES)
        nodes = [NodeFacts.of(raw) for raw in listed["items"]]
        self.nodes = {node.uid: node for node in nodes}
        await self._note(Health.VALID, "")
        version = str(listed["metadata"]["resourceVersion"])
        while api is await self._apis.get(self._cluster):  # else the kubeconfig was replaced: begin anew
            async for event in api.watch(_NODES, version, WATCH_S):
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    await self._take(event["type"], NodeFacts.of(event["object"]))

    async def _take(self, kind: str, node: NodeFacts) -> None:
        if kind == "DELETED":
            self.nodes.pop(node.uid, None)
        else:
            self.nodes[node.uid] = node
        await self._note(Health.VALID, "")

    async def _note(self, health: Health, message: str) -> None:
        async with self._changed:
            self.health, self.message = health, message
            self.generation += 1
            self._changed.notify_all()


class NodeCaches:
    """The caches of all clusters, each started at its first use."""

    def __init__(self, apis: ClusterApis) -> None:
        self._apis = apis
        self._caches: dict[tuple[str, str], NodeCache] = {}

    def of(self, cluster: ClusterRef) -> NodeCache:
        """The cache of `cluster`."""
        key = (cluster.organization, cluster.cluster)
        if key not in self._caches:
            self._caches[key] = NodeCache(self._apis, cluster)
        return self._caches[key]

    async def close(self) -> None:
        """Stop all watches."""
        for cache in self._caches.values():
            await cache.close()
        self._caches.clear()
