"""A cluster as a whole: probed before it is registered, given its CNI once, watched for health and version."""

from __future__ import annotations

import asyncio
import time

from temporalio import activity

from activities.beating import beaten, beating
from activities.cluster_api import TIMEOUT_S, ClusterApi, ClusterApis
from activities.cluster_errors import ClusterError, as_temporal
from activities.cluster_probe import probe
from activities.manifests import apply, objects_of
from activities.node_cache import NodeCache, NodeCaches
from activities.node_facts import digest
from activities.vault import Vault
from core import calls
from core.calls import ClusterProbe, ClusterRef, ClusterSeen, Health

AGAIN_S = 2.0  # an API server that restarts is back, or still away, after so long


class ClusterActivities:
    """Activities on clusters. `poll_s` is how often a watched cluster's version is asked for."""

    def __init__(self, apis: ClusterApis, vault: Vault, caches: NodeCaches, poll_s: float = 30.0) -> None:
        self._apis = apis
        self._vault = vault
        self._caches = caches
        self._poll_s = poll_s

    @activity.defn(name=calls.PROBE_CLUSTER.name)
    async def probe_cluster(self, call: calls.ProbeCluster) -> ClusterProbe:
        """Try a kubeconfig that is not stored yet."""
        ref = ClusterRef(organization=call.organization, cluster=call.cluster)
        try:
            api = ClusterApi.from_text(self._vault.open_kubeconfig(ref, call.sealed))
        except ClusterError as error:
            return ClusterProbe(health=Health.INVALID, reason=error.reason, message=error.message)
        try:
            return await probe(api, call)
        finally:
            await api.close()

    @activity.defn(name=calls.APPLY_MANIFEST.name)
    @beaten
    async def apply_manifest(self, call: calls.ApplyManifest) -> calls.Applied:
        """Apply every object of a manifest. Doing it again changes nothing."""
        try:
            objects = objects_of(call.manifest)
            api = ClusterApi.from_text(self._vault.open_kubeconfig(call.cluster, call.sealed))
            try:
                return calls.Applied(objects=[await apply(api, each) for each in objects])
            finally:
                await api.close()
        except ClusterError as error:
            raise as_temporal(error) from error

    @activity.defn(name=calls.WATCH_CLUSTER.name)
    async def watch_cluster(self, call: calls.WatchCluster) -> ClusterSeen:
        """Return when health, version or the number of nodes are other than known, or when the time is over."""
        end = time.monotonic() + call.wait_s
        async with beating(lambda: call.cluster.cluster):
            while True:
                cache = self._caches.of(call.cluster)
                seen = await self._see(call.cluster, cache)
                left = end - time.monotonic()
                if seen.digest != call.known_digest or left <= 0 or activity.is_worker_shutdown():
                    return seen
                await _until_news(cache, min(self._poll_s, left))

    async def _see(self, cluster: ClusterRef, cache: NodeCache) -> ClusterSeen:
        if cache.generation == 0:
            # A slow first list is no news; it ends within its own timeout, well or badly.
            await cache.wait_change(0, TIMEOUT_S + AGAIN_S)
        try:
            version = await self._version(cluster)
        except ClusterError as error:
            health = Health.INVALID if error.status in (401, 403) else Health.UNKNOWN
            known_by = digest(health, str(error.status or error.reason))
            return ClusterSeen(health=health, reason=error.reason, message=error.message, digest=known_by)
        nodes, health = len(cache.nodes), cache.health
        known_by = digest(health, version, str(nodes))
        return ClusterSeen(health=health, message=cache.message, version=version, nodes=nodes, digest=known_by)

    async def _version(self, cluster: ClusterRef) -> str:
        """The version; one failure alone says nothing yet. Raises ClusterError."""
        try:
            return await (await self._apis.get(cluster)).version()
        except ClusterError:
            await asyncio.sleep(AGAIN_S)
        return await (await self._apis.get(cluster)).version()


async def _until_news(cache: NodeCache, seconds: float) -> None:
    """Until the number of nodes or the health changed, at most so long."""
    known, end = (len(cache.nodes), cache.health), time.monotonic() + seconds
    while (len(cache.nodes), cache.health) == known and (left := end - time.monotonic()) > 0:
        await cache.wait_change(cache.generation, left)
