"""Tells users in their cluster what is done and why, as Kubernetes events. Nobody waits for it, nothing fails by it."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from temporalio.exceptions import ApplicationError

from activities.cluster_api import ClusterApis
from activities.cluster_errors import ClusterError
from core.calls import ClusterRef
from core.kube_events import About, Ledger, Saying, Written, again, cut

QUEUED = 2000  # sayings of one cluster that wait to be written; more come only from a cluster that does not answer
REMEMBERED = 5000  # events that may be counted up, of all clusters; client-go remembers 4096
A_SECOND = 20.0  # writes to one cluster
TRIES = 3  # for one event, while the cluster does not answer
PAUSE_S = 1.0  # before the second try, then twice as long
CLOSING_S = 1.5
QUIET_S = 3600.0  # before the same trouble is logged again
_INSTANCE_LENGTH = 128  # the API server's limit

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Waiting:
    """How often a saying was said since it was last written, and when first and last."""

    count: int
    first: datetime
    last: datetime


class EventWriter:
    """Writes events in the background, a lane for each cluster. Call `tell` from the event loop's thread."""

    def __init__(self, apis: ClusterApis, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._apis = apis
        self._clock = clock
        self._ledger = Ledger(REMEMBERED)
        self._lanes: dict[tuple[str, str], _Lane] = {}
        self._logged: dict[tuple[str, ...], float] = {}
        self._lost: Counter[tuple[str, str]] = Counter()
        self._closed = False

    def tell(self, cluster: ClusterRef, about: About, reason: str, message: str, *, warning: bool = False) -> None:
        """Say something of an object, soon. What was said within the hour is counted up."""
        if self._closed:
            return
        key = (cluster.organization, cluster.cluster)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _Lane(cluster)
            lane.task = asyncio.create_task(self._drain(lane, key), name=f"events of {cluster.cluster}")
        lane.add(Saying(about, reason, cut(message), warning), self._clock())

    async def close(self) -> None:
        """Write for a moment what is still to be written, and end."""
        self._closed = True
        lanes = list(self._lanes.values())
        tasks = [lane.task for lane in lanes if lane.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSING_S)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._logged.clear()
        for key in list(self._lost):
            self._note_lost(key)

    async def _drain(self, lane: _Lane, key: tuple[str, str]) -> None:
        """Write all that waits, at a steady pace; then the lane is closed until something is said again."""
        try:
            while lane.waiting:
                begun = time.monotonic()
                saying, waiting = lane.waiting.popitem(last=False)
                if not await self._written(lane.cluster, saying, waiting):
                    lane.lost += 1 + len(lane.waiting)  # late news of a cluster that did not answer is no news
                    lane.waiting.clear()
                await asyncio.sleep(begun + 1 / A_SECOND - time.monotonic())
        finally:
            del self._lanes[key]
            self._lost[key] += lane.lost + len(lane.waiting)
            self._note_lost(key)

    async def _written(self, cluster: ClusterRef, saying: Saying, waiting: _Waiting) -> bool:
        """Write one event. False when the cluster does not answer; a refusal is an answer."""
        mark = secrets.token_hex(8)
        for attempt in range(TRIES):
            if attempt:
                await asyncio.sleep(PAUSE_S * 2 ** (attempt - 1))
            try:
                await self._write(cluster, saying, waiting, mark)
            except ApplicationError as error:  # from the vault: the kubeconfig could not be had
                self._note(cluster, "no connection", error.message)
                return False
            except ClusterError as error:
                self._note(cluster, error.reason, error.message)
                if error.status is not None and error.status < 500 and error.status != 429:
                    return True
            else:
                return True
        return False

    async def _write(self, cluster: ClusterRef, saying: Saying, waiting: _Waiting, mark: str) -> None:
        """Count the known event up, or make a new one. Raises ClusterError, and ApplicationError from the vault."""
        api = await self._apis.get(cluster)
        path = f"/api/v1/namespaces/{saying.about.home}/events"
        key = (cluster.organization, cluster.cluster, saying)
        known = self._ledger.find(key, self._clock())
        if known is not None:
            count = known.count + waiting.count
            if await _there(api.patch(f"{path}/{known.name}", again(count, waiting.last)), without=404):
                self._ledger.note(key, Written(known.name, count, self._clock()))
                return
        event = saying.event(mark, _instance(), waiting.count, waiting.first, waiting.last)
        await _there(api.post(path, event), without=409)  # there already: an earlier try's answer was lost
        self._ledger.note(key, Written(event["metadata"]["name"], waiting.count, self._clock()))

    def _note(self, cluster: ClusterRef, reason: str, message: str) -> None:
        if self._due(cluster.organization, cluster.cluster, reason):
            _log.warning("events of cluster %s cannot be written: %s", cluster.cluster, message)

    def _note_lost(self, key: tuple[str, str]) -> None:
        if self._lost[key] and self._due(*key, "lost"):
            _log.warning("%d events of cluster %s were not written", self._lost.pop(key), key[1])

    def _due(self, *trouble: str) -> bool:
        """Whether to log a trouble: not when that was done within the hour."""
        now = time.monotonic()
        self._logged = {known: at for known, at in self._logged.items() if now - at < QUIET_S}
        if trouble in self._logged:
            return False
        self._logged[trouble] = now
        return True


class _Lane:
    """What is to be written to one cluster, in the order in which it was said; the same is waiting once."""

    def __init__(self, cluster: ClusterRef) -> None:
        self.cluster = cluster
        self.task: asyncio.Task[None] | None = None
        self.waiting: OrderedDict[Saying, _Waiting] = OrderedDict()
        self.lost = 0

    def add(self, saying: Saying, now: datetime) -> None:
        known = self.waiting.get(saying)
        if known is not None:
            known.count, known.last = known.count + 1, now
            return
        if len(self.waiting) == QUEUED:
            self.waiting.popitem(last=False)
            self.lost += 1
        self.waiting[saying] = _Waiting(1, now, now)


async def _there(call: Awaitable[object], without: int) -> bool:
    """Whether a call was answered with success; False for the status `without`. Raises ClusterError for others."""
    try:
        await call
    except ClusterError as error:
        if error.status == without:
            return False
        raise
    return True


def _instance() -> str:
    return socket.gethostname()[:_INSTANCE_LENGTH]
