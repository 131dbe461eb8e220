"""Watches: the events after a resourceVersion, as they happen."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import msgspec

from sandbox.kubernetes.errors import expired
from sandbox.kubernetes.kinds import PODS, Kind
from sandbox.kubernetes.objects import Obj, namespace_of
from sandbox.kubernetes.rendering import View, bookmark, single
from sandbox.kubernetes.selectors import Match
from sandbox.kubernetes.store import Change, Store, Stored

BOOKMARK_PERIOD = 60.0  # real seconds; what kube-apiserver does about every minute
_Topic = tuple[str, str | None]


class Subscription:
    """The changes that one watch has yet to send."""

    def __init__(self) -> None:
        self.changes: deque[Change] = deque()
        self.woken = asyncio.Event()
        self.closed = False

    def push(self, change: Change) -> None:
        """Add a change and wake the watch."""
        self.changes.append(change)
        self.woken.set()

    def close(self) -> None:
        """End the watch."""
        self.closed = True
        self.woken.set()


class Hub:
    """Hands each change to the watches it may concern.

    A thousand kubelets watch their own pods each: those are found by node, so a pod wakes one of them.
    """

    def __init__(self, store: Store) -> None:
        self._topics: dict[_Topic, list[Subscription]] = {}
        store.listen(self._spread)

    def subscribe(self, kind: Kind, node: str | None) -> tuple[Subscription, Callable[[], None]]:
        """Changes of a kind, or of the pods on one node; the second value ends it."""
        topic = (kind.storage, node)
        subscription = Subscription()
        self._topics.setdefault(topic, []).append(subscription)
        return subscription, lambda: self._topics[topic].remove(subscription)

    def cut(self) -> None:
        """End all watches, as a restarting API server does."""
        for subscriptions in self._topics.values():
            for subscription in subscriptions:
                subscription.close()

    def _spread(self, change: Change) -> None:
        topics: set[_Topic] = {(change.kind.storage, None)}
        if change.kind is PODS:
            versions = (change.old, change.new)
            topics |= {(PODS.storage, v.obj["spec"].get("nodeName", "")) for v in versions if v}
        for topic in topics:
            for subscription in self._topics.get(topic, ()):
                subscription.push(change)


@dataclass(frozen=True)
class WatchRequest:
    """What a watch wants: which objects, from where on, in which form, and for how long (real seconds).

    `initial` begins with the present objects; `mark_end` then sends the bookmark that ends them. A `node`
    limits a watch on pods to those on it.
    """

    kind: Kind
    namespace: str
    matches: Match | None
    view: View
    since: int
    initial: bool
    mark_end: bool
    bookmarks: bool
    seconds: float
    node: str | None


class Watch:
    """One running watch. `events` gives its newline-ended JSON until the time is up."""

    def __init__(self, store: Store, hub: Hub, request: WatchRequest, now: Callable[[], datetime]) -> None:
        self._store = store
        self._hub = hub
        self._request = request
        self._kind = request.kind
        self._now = now

    async def events(self) -> AsyncIterator[bytes]:
        """The events, beginning with an ERROR 410 when history does not reach back far enough."""
        request, kind = self._request, self._kind
        if not request.initial and request.since < self._store.floor(kind):
            yield _encode("ERROR", expired(f"too old resource version: {request.since} ({self._store.version})").body())
            return
        subscription, leave = self._hub.subscribe(kind, request.node)
        backlog = [] if request.initial else self._store.since(kind, request.since)
        present = self._store.all(kind, request.namespace) if request.initial else []
        version = self._store.version
        try:
            for stored in present:
                if self._wants(stored):
                    yield self._line("ADDED", stored)
            if request.mark_end:
                yield self._bookmark(version, True)
            for change in backlog:
                if line := self._event(change):
                    yield line
            async for line in self._live(subscription):
                yield line
        finally:
            leave()

    async def _live(self, subscription: Subscription) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._request.seconds
        mark = loop.time() + BOOKMARK_PERIOD
        while not subscription.closed and (now := loop.time()) < end:
            with suppress(TimeoutError):
                await asyncio.wait_for(subscription.woken.wait(), min(end, mark) - now)
            subscription.woken.clear()
            while subscription.changes:
                if line := self._event(subscription.changes.popleft()):
                    yield line
            if loop.time() >= mark:
                mark = loop.time() + BOOKMARK_PERIOD
                if self._request.bookmarks:
                    yield self._bookmark(self._store.version, False)

    def _wants(self, stored: Stored | None) -> bool:
        if stored is None or (self._request.namespace not in ("", namespace_of(stored.obj))):
            return False
        return self._request.matches is None or self._request.matches(stored.obj)

    def _event(self, change: Change) -> bytes | None:
        """The event as this watch sees it: an object that stops matching is DELETED for it."""
        before, after = self._wants(change.old), self._wants(change.new)
        if after and change.new:
            return self._line("MODIFIED" if before else "ADDED", change.new)
        if before and change.old:
            gone = change.old if change.new is None else _as_of(change.old, change.version)
            return self._line("DELETED", gone)
        return None

    def _view(self) -> View:
        return self._request.view._replace(now=self._now())

    def _line(self, type_: str, stored: Stored) -> bytes:
        return f'{{"type":"{type_}","object":'.encode() + single(self._kind, stored, self._view()) + b"}\n"

    def _bookmark(self, version: int, initial_end: bool) -> bytes:
        return _encode("BOOKMARK", bookmark(self._kind, version, self._view(), initial_end))


def _encode(type_: str, obj: Obj) -> bytes:
    return msgspec.json.encode({"type": type_, "object": obj}) + b"\n"


def _as_of(stored: Stored, version: int) -> Stored:
    metadata = stored.obj["metadata"] | {"resourceVersion": str(version)}
    return Stored(stored.obj | {"metadata": metadata}, version)
