"""A pool's long watch: nodes from the cluster's cache, servers from the project's listing, told when they differ."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from temporalio import activity

from activities.absences import Absences
from activities.beating import beating
from activities.listing import Listing, ServerListings
from activities.node_cache import NodeCache, NodeCaches
from activities.node_facts import NodeFacts, digest, is_node_of
from core import calls
from core.calls import Health, MachineKnown, MachineSeen
from core.machine import Presence
from core.node_sync import in_step

LOOK_S = 4.0  # between two looks at the servers' listing, which says itself how often it is read
TOGETHER_S = 0.05  # changes of one moment are told together


class WatchActivities:
    """The watch."""

    def __init__(self, caches: NodeCaches, listings: ServerListings) -> None:
        self._caches = caches
        self._listings = listings
        self._absences = Absences()

    @activity.defn(name=calls.WATCH_POOL.name)
    async def watch_pool(self, call: calls.WatchPool) -> calls.PoolObservation:
        """Return what differs from what is known, as soon as something does, or nothing when the time is over."""
        end = time.monotonic() + call.wait_s
        async with beating(lambda: len(call.machines)):
            while True:
                cache = self._caches.of(call.cluster)
                generation = cache.generation
                seen = self._look(call, cache, await self._listings.look(call.project))
                left = end - time.monotonic()
                over = left <= 0 or activity.is_worker_shutdown()
                # Before its first look the cache knows nothing, which is no news.
                if over or (generation > 0 and _news(call, seen)):
                    return seen
                if await cache.wait_change(generation, min(LOOK_S, left)) != generation:
                    await asyncio.sleep(TOGETHER_S)

    def _look(self, call: calls.WatchPool, cache: NodeCache, listing: Listing) -> calls.PoolObservation:
        machines = {}
        for name, known in call.machines.items():
            server = self._absences.presence(call.project, known.server_id, listing)
            sight = _Sight(call, name, known, server).seen(cache)
            if sight.digest != known.digest:
                machines[name] = sight
        message = "; ".join(text for text in (listing.message, cache.message) if text)
        return calls.PoolObservation(
            machines=machines, cloud=listing.health, api=cache.health, refused=listing.refused, message=message
        )


def _news(call: calls.WatchPool, seen: calls.PoolObservation) -> bool:
    return bool(seen.machines) or seen.cloud is not call.cloud or seen.api is not call.api


@dataclass(frozen=True)
class _Sight:
    """One machine, looked at."""

    call: calls.WatchPool
    name: str
    known: MachineKnown
    server: Presence

    def seen(self, cache: NodeCache) -> MachineSeen:
        """The machine as the world shows it; while the cluster does not answer nothing is said of its node."""
        node = cache.nodes.get(self.name)
        if cache.health is not Health.VALID:
            return self._with(node=Presence.UNKNOWN)
        if node is None or not self._is_ours(node):
            return self._with(node=Presence.ABSENT, ready=False, waiting_for="its Node object, which was deleted")
        return self._with(
            node=Presence.PRESENT,
            node_uid=node.uid,
            ready=node.takes_work,
            waiting_for=node.waiting_for,
            version=node.version,
            in_step=in_step(node.live, self.call.labels, self.call.taints),
        )

    def _is_ours(self, node: NodeFacts) -> bool:
        if self.known.node_uid is None:
            return is_node_of(node, self.name, self.known.server_id)
        return node.uid == self.known.node_uid

    def _with(self, **of_node: object) -> MachineSeen:
        seen = MachineSeen.model_validate({"server": self.server, "digest": "", **of_node})
        return seen.model_copy(update={"digest": digest(seen.model_dump_json())})
