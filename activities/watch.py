"""A pool's long watch: nodes from the cluster's cache, servers from the project's listing, told when they differ."""

from __future__ import annotations

import asyncio
import time

from temporalio import activity

from activities.listing import Listing, ServerListings
from activities.node_cache import NodeCache, NodeCaches
from activities.node_facts import NodeFacts, digest
from core import calls
from core.calls import Health, MachineKnown, MachineSeen
from core.machine import Presence
from core.node_sync import in_step

BEAT_S = 4.0
PROOF = 2  # successive listings that must lack a server before it counts as absent


class _Missing:
    """In how many successive listings each server was missing."""

    def __init__(self) -> None:
        self._generation = 0
        self._times: dict[int, int] = {}

    def presence(self, server_id: int | None, listing: Listing) -> Presence:
        """Present when listed; absent only when proven; unknown otherwise."""
        if server_id is None:
            return Presence.UNKNOWN
        if server_id in listing.servers:
            return Presence.PRESENT if listing.health is Health.VALID else Presence.UNKNOWN
        proven = listing.health is Health.VALID and self._times.get(server_id, 0) >= PROOF
        return Presence.ABSENT if proven else Presence.UNKNOWN

    def count(self, watched: list[MachineKnown], listing: Listing) -> None:
        """Take a listing into account, once."""
        if listing.health is not Health.VALID or listing.generation == self._generation:
            return
        self._generation = listing.generation
        for known in watched:
            if known.server_id is not None:
                missed = 0 if known.server_id in listing.servers else self._times.get(known.server_id, 0) + 1
                self._times[known.server_id] = missed


class WatchActivities:
    """The watch."""

    def __init__(self, caches: NodeCaches, listings: ServerListings) -> None:
        self._caches = caches
        self._listings = listings

    @activity.defn(name=calls.WATCH_POOL.name)
    async def watch_pool(self, call: calls.WatchPool) -> calls.PoolObservation:
        """Return what differs from what is known, as soon as something does, or nothing when the time is over."""
        cache, missing, begun = self._caches.of(call.cluster), _Missing(), time.monotonic()
        while True:
            generation = cache.generation
            listing = await self._listings.look(call.project)
            missing.count(list(call.machines.values()), listing)
            seen = _observe(call, cache, listing, missing)
            settled = cache.generation > 0  # before its first look the cache knows nothing, which is no news
            over = time.monotonic() - begun >= call.wait_s or activity.is_worker_shutdown()
            if over or (settled and _news(call, seen)):
                return seen
            activity.heartbeat()
            await _next_look(cache, generation)


async def _next_look(cache: NodeCache, generation: int) -> None:
    """Until the nodes changed or it is time to beat; changes of the same moment are taken together."""
    if await cache.wait_change(generation, BEAT_S) != generation:
        await asyncio.sleep(0.05)


def _news(call: calls.WatchPool, seen: calls.PoolObservation) -> bool:
    return bool(seen.machines) or seen.cloud is not call.cloud or seen.api is not call.api


def _observe(call: calls.WatchPool, cache: NodeCache, listing: Listing, missing: _Missing) -> calls.PoolObservation:
    machines = {}
    for name, known in call.machines.items():
        server = missing.presence(known.server_id, listing)
        sight = _sight(call, name, known, cache, server)
        if sight.digest != known.digest:
            machines[name] = sight
    message = "; ".join(text for text in (listing.message, cache.message) if text)
    return calls.PoolObservation(
        machines=machines, cloud=listing.health, api=cache.health, refused=listing.refused, message=message
    )


def _sight(call: calls.WatchPool, name: str, known: MachineKnown, cache: NodeCache, server: Presence) -> MachineSeen:
    node = cache.nodes.get(known.node_uid or "")
    if cache.health is not Health.VALID:
        return MachineSeen(server=server, node=Presence.UNKNOWN, digest=digest(server, "unknown"))
    if node is None:
        waiting = "its Node object was deleted"
        return MachineSeen(
            server=server, node=Presence.ABSENT, ready=False, waiting_for=waiting, digest=digest(server, "absent")
        )
    return _present(call, name, node, server)


def _present(call: calls.WatchPool, name: str, node: NodeFacts, server: Presence) -> MachineSeen:
    step = in_step(node.live, call.labels, call.taints)
    ready = node.takes_work
    parts = (name, node.uid, server, str(ready), node.waiting_for, node.version, str(step))
    return MachineSeen(
        server=server,
        node=Presence.PRESENT,
        node_uid=node.uid,
        ready=ready,
        waiting_for=node.waiting_for,
        version=node.version,
        in_step=step,
        digest=digest(*parts),
    )
