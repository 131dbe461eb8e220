"""List and watch of one kind of object of a cluster, kept up for as long as somebody wants to know."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

from temporalio.exceptions import ApplicationError

from activities.cluster_api import ClusterApi, ClusterApis
from activities.cluster_errors import ClusterError
from core.calls import ClusterRef, Health

Json = dict[str, Any]

WATCH_S = 240
PAUSE_S = (1.0, 30.0)  # first and longest pause after a failure
NOT_SERVED_S = 600.0  # after so long a kind that the API server did not have is looked for again
LARGE = 500  # objects; a list of more is handed on in a thread, so that heartbeats go on meanwhile


class Reflector:
    """Follows the objects at a path. `replaced` is told a whole list, `changed` one event, `noted` health and why.

    While the health is not Valid, what was told last proves no absence. `wanted` ends it when it says no.
    """

    def __init__(
        self,
        apis: ClusterApis,
        cluster: ClusterRef,
        path: str,
        *,
        replaced: Callable[[list[Json]], None],
        changed: Callable[[str, Json], None],
        noted: Callable[[Health, str], None],
        wanted: Callable[[], bool],
    ) -> None:
        self._apis = apis
        self._cluster = cluster
        self._path = path
        self._replaced, self._changed, self._noted, self._wanted = replaced, changed, noted, wanted
        self._listed = False
        self._task = asyncio.create_task(self._run(), name=f"{path} of {cluster.cluster}")

    @property
    def ended(self) -> bool:
        """Whether it no longer watches."""
        return self._task.done()

    async def close(self) -> None:
        """Stop watching."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            await self._keep_watching()
        finally:
            # However it ended: what is known grows old from here on and must not pass for the present.
            self._noted(Health.UNKNOWN, "no longer watched")

    async def _keep_watching(self) -> None:
        failures = 0
        while self._wanted():
            try:
                api = await self._apis.get(self._cluster)
                version = await self._list(api)
                failures = 0
                await self._follow(api, version)
                continue
            except ClusterError as error:
                if error.status == 410:
                    continue  # the watch fell behind what the server keeps: list again
                if error.status == 404:
                    await self._not_served()
                    continue
                failures += 1
                self._note_failure(error, failures)
            except ApplicationError as error:  # from the vault: the kubeconfig could not be had
                failures += 1
                self._noted(Health.UNKNOWN, error.message)
            pause = min(PAUSE_S[0] * 2 ** min(failures - 1, 10), PAUSE_S[1])
            await asyncio.sleep(pause * random.uniform(0.8, 1.2))

    async def _not_served(self) -> None:
        """A kind that the API server does not have has no objects."""
        self._replaced([])
        self._noted(Health.VALID, "")
        await asyncio.sleep(NOT_SERVED_S)

    def _note_failure(self, error: ClusterError, failures: int) -> None:
        if error.status in (401, 403):
            self._noted(Health.INVALID, error.message)
        elif failures > 1 or not self._listed:
            # A single broken connection is an API server's restart, and known again a second later.
            self._noted(Health.UNKNOWN, error.message)

    async def _list(self, api: ClusterApi) -> str:
        listed = await api.get(self._path)
        items: list[Json] = listed["items"]
        if len(items) > LARGE:
            await asyncio.to_thread(self._replaced, items)
        else:
            self._replaced(items)
        self._listed = True
        self._noted(Health.VALID, "")
        return str(listed["metadata"]["resourceVersion"])

    async def _follow(self, api: ClusterApi, version: str) -> None:
        """Follow the watch, opened anew each time the server ends it, until another kubeconfig is stored."""
        while self._wanted() and api is await self._apis.get(self._cluster):
            async for event in api.watch(self._path, version, WATCH_S):
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    self._changed(event["type"], event["object"])
            await asyncio.sleep(PAUSE_S[0])  # a server that ends every watch at once must not be asked in a rush
