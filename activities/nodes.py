"""One machine's node: waited for, brought into step, reaped."""

from __future__ import annotations

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.beating import beaten, beating, check_shutdown
from activities.cluster_api import ClusterApi, ClusterApis
from activities.cluster_errors import ClusterError, as_temporal
from activities.drain_pods import pods_on
from activities.node_cache import NodeCache, NodeCaches
from activities.node_facts import is_node_of
from activities.node_writes import is_machines, node_path, read_node, write_node
from core import calls, machine_calls
from core.calls import Health
from core.drain import PodKind
from core.machine import Presence
from core.node_sync import change_for

LOOK_S = 60.0  # the longest time between two looks at the cache

_PASSWORDS = ("node-password.k3s", "node-password.rke2")  # what a distribution keeps of a node under its name


class NodeActivities:
    """Activities on nodes."""

    def __init__(self, apis: ClusterApis, caches: NodeCaches) -> None:
        self._apis = apis
        self._caches = caches

    @activity.defn(name=machine_calls.AWAIT_NODE.name)
    async def await_node(self, call: machine_calls.AwaitNode) -> machine_calls.NodeSeen:
        """Wait until what is known of the machine's node changed; that it is not there yet is no change."""
        async with beating(lambda: call.machine):
            while True:
                cache = self._caches.of(call.cluster)
                generation = cache.generation
                seen = _seen(cache, call)
                if seen.digest != call.known_digest:
                    return seen
                check_shutdown()
                await cache.wait_change(generation, LOOK_S)

    @activity.defn(name=machine_calls.REAP_NODE.name)
    @beaten
    async def reap_node(self, call: machine_calls.ReapNode) -> machine_calls.Reaped:
        """Delete the machine's Node, and what k3s and rke2 keep under its name. Another machine's is not touched."""
        try:
            api = await self._apis.get(call.cluster)
            node = await read_node(api, call.machine)
            if node is not None and not is_machines(node, call.machine, call.server_id, call.node_uid):
                return machine_calls.Reaped(removed=False)
            removed = node is not None and await api.delete(node_path(node.name), uid=node.uid)
            for suffix in _PASSWORDS:
                await api.delete(f"/api/v1/namespaces/kube-system/secrets/{call.machine}.{suffix}")
        except ClusterError as error:
            raise as_temporal(error) from error
        return machine_calls.Reaped(removed=removed)

    @activity.defn(name=calls.SYNC_NODES.name)
    async def sync_nodes(self, call: calls.SyncNodes) -> calls.Synced:
        """Bring labels and taints into step, node by node; a node that is gone is reported as missing."""
        changed: dict[str, str] = {}
        missing: list[str] = []
        try:
            async with beating(lambda: len(changed)):
                api = await self._apis.get(call.cluster)
                for machine, uid in sorted(call.nodes.items()):
                    summary = await _sync_one(api, machine, uid, call)
                    if summary is None:
                        missing.append(machine)
                    else:
                        changed[machine] = summary
        except ClusterError as error:
            raise as_temporal(error) from error
        return calls.Synced(changed=changed, missing=missing)

    @activity.defn(name=calls.COUNT_PODS.name)
    async def count_pods(self, call: calls.CountPods) -> calls.PodCount:
        """How many pods a drain of these nodes would evict; None where the cluster does not answer."""
        count = 0
        try:
            api = await self._apis.get(call.cluster)
            for node in call.nodes:
                pods = await pods_on(api, node)
                count += sum(pod.kind is PodKind.EVICTABLE for pod in pods)
        except (ClusterError, ApplicationError):
            return calls.PodCount(pods=None)
        return calls.PodCount(pods=count)


def _seen(cache: NodeCache, call: machine_calls.AwaitNode) -> machine_calls.NodeSeen:
    node = cache.nodes.get(call.machine)
    if node is not None and is_node_of(node, call.machine, call.server_id):
        return node.seen()
    if cache.health is not Health.VALID:
        return machine_calls.NodeSeen(presence=Presence.UNKNOWN, digest=call.known_digest)
    return machine_calls.NodeSeen(presence=Presence.ABSENT, digest="")


async def _sync_one(api: ClusterApi, machine: str, uid: str, call: calls.SyncNodes) -> str | None:
    done = await write_node(
        api, machine, lambda node: node.uid == uid, lambda node: change_for(node, call.labels, call.taints)
    )
    return None if done is None else done.summary
