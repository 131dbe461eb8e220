"""List and watch of one kind of object of a cluster, kept up for as long as somebody wants to know."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any, Protocol

import msgspec
from temporalio.exceptions import ApplicationError

from activities.cluster_api import ClusterApi, ClusterApis
from activities.cluster_errors import ClusterError
from core.calls import ClusterRef, Health

Json = dict[str, Any]

WATCH_S = 240
PAUSE_S = (1.0, 30.0)  # first and longest pause after a failure
NOT_SERVED_S = 600.0  # after so long a kind that the API server did not have is looked for again
# Objects in a page, as kubectl and client-go ask. They are also as many as are read without a break (60 ms for pods),
# so that heartbeats and other activities go on meanwhile.
PAGE = 500


class Taker(Protocol):
    """Takes in what is seen: a list in pages between `begin` and `complete`, then one event after another."""

    def begin(self) -> None:
        """A list begins; what was taken in of one that was broken off is void."""

    def page(self, items: list[msgspec.Raw]) -> None:
        """Some objects of the list."""

    def complete(self) -> None:
        """That was all: an object that was not in the list is gone."""

    def changed(self, kind: str, raw: Json) -> None:
        """An event ADDED, MODIFIED or DELETED, and its object."""


class Reflector:
    """Follows the objects at a path into `taker`. `noted` is told the health and why it is not Valid.

    While the health is not Valid, what was taken in last proves no absence. `wanted` ends it when it says no. A kind
    that an API server `may_lack` has no objects where it answers 404; of any other kind that answer says nothing.
    """

    def __init__(
        self,
        apis: ClusterApis,
        cluster: ClusterRef,
        path: str,
        taker: Taker,
        *,
        noted: Callable[[Health, str], None],
        wanted: Callable[[], bool],
        may_lack: bool = False,
    ) -> None:
        self._apis = apis
        self._cluster = cluster
        self._path = path
        self._taker = taker
        self._noted, self._wanted, self._may_lack = noted, wanted, may_lack
        self._listed = False
        self._refused = False
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
                if error.status == 404 and self._may_lack:
                    await self._not_served()
                    continue
                failures += 1
                self._note_failure(error, failures)
            except ApplicationError as error:  # from the vault: the kubeconfig could not be had
                failures += 1
                self._noted(Health.UNKNOWN, error.message)
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                failures += 1
                self._noted(Health.UNKNOWN, f"an object at {self._path} cannot be read: {error!r}")
            pause = min(PAUSE_S[0] * 2 ** min(failures - 1, 10), PAUSE_S[1])
            await asyncio.sleep(pause * random.uniform(0.8, 1.2))

    async def _not_served(self) -> None:
        self._taker.begin()
        self._taker.complete()
        self._noted(Health.VALID, "")
        await asyncio.sleep(NOT_SERVED_S)

    def _note_failure(self, error: ClusterError, failures: int) -> None:
        if error.status in (401, 403):
            self._refused = True
            self._noted(Health.INVALID, error.message)
        elif failures > 1 or not self._listed:
            # A single broken connection is an API server's restart, and known again a second later.
            self._noted(Health.UNKNOWN, error.message)

    async def _list(self, api: ClusterApi) -> str:
        """Take in all objects. Returns the version to watch from."""
        try:
            version = await self._pages(api, PAGE)
        except ClusterError as error:
            if error.status != 410:
                raise
            # The pages took longer than the server keeps a list. The whole cannot grow old.
            version = await self._pages(api, 0)
        self._listed = True
        if not self._refused:  # one that may list and not watch would be Valid for a moment at each attempt
            self._noted(Health.VALID, "")
        return version

    async def _pages(self, api: ClusterApi, limit: int) -> str:
        """Take in a list. Its version is the first page's: the watch tells what changed while the others came."""
        self._taker.begin()
        page = await api.page(self._path, limit)
        version = page.metadata.version
        while True:
            await self._take(page.items or [])
            if not page.metadata.more:
                break
            page = await api.page(self._path, limit, page.metadata.more)
        self._taker.complete()
        return version

    async def _take(self, items: list[msgspec.Raw]) -> None:
        for start in range(0, len(items), PAGE):
            self._taker.page(items[start : start + PAGE])
            await asyncio.sleep(0)

    async def _follow(self, api: ClusterApi, version: str) -> None:
        """Follow the watch, opened anew each time the server ends it, until another kubeconfig is stored."""
        while self._wanted() and api is await self._apis.get(self._cluster):
            async for event in api.watch(self._path, version, WATCH_S, self._opened):
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    self._taker.changed(event["type"], event["object"])
            await asyncio.sleep(PAUSE_S[0])  # a server that ends every watch at once must not be asked in a rush

    def _opened(self) -> None:
        self._refused = False
        self._noted(Health.VALID, "")
