"""One machine's node: waited for, cordoned, brought into step, reaped."""

from __future__ import annotations

from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.beating import beaten, beating, check_shutdown
from activities.cluster_api import ClusterApi, ClusterApis
from activities.cluster_errors import ClusterError, as_temporal
from activities.drain_pods import pods_on
from activities.node_cache import NodeCache, NodeCaches
from activities.node_facts import NodeFacts, is_node_of
from core import calls, machine_calls
from core.calls import Health
from core.drain import PodKind
from core.machine import Presence
from core.node_keys import CORDONED_BY, NO_LOAD_BALANCER
from core.node_sync import NodeChange, change_for

LOOK_S = 60.0  # the longest time between two looks at the cache
CONFLICTS = 5  # how often a node that others write at the same time is read again before Temporal retries

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

    @activity.defn(name=machine_calls.CORDON_NODE.name)
    async def cordon_node(self, call: machine_calls.CordonNode) -> machine_calls.Cordoned:
        """Cordon the node, out of load balancers too, and say on it that we did; another's cordon stays theirs."""
        try:
            api = await self._apis.get(call.cluster)
            node = await _read(api, call.machine)
            if node is None or not _same(node, call.machine, call.server_id, call.node_uid):
                return machine_calls.Cordoned(presence=Presence.ABSENT)
            await api.patch(_path(node.name), _cordon(node, call.operation_id))
        except ClusterError as error:
            raise as_temporal(error) from error
        return machine_calls.Cordoned(presence=Presence.PRESENT, node_uid=node.uid)

    @activity.defn(name=machine_calls.REAP_NODE.name)
    @beaten
    async def reap_node(self, call: machine_calls.ReapNode) -> machine_calls.Reaped:
        """Delete the machine's Node, and what k3s and rke2 keep under its name. Another machine's is not touched."""
        try:
            api = await self._apis.get(call.cluster)
            node = await _read(api, call.machine)
            if node is not None and not _same(node, call.machine, call.server_id, call.node_uid):
                return machine_calls.Reaped(removed=False)
            removed = node is not None and await api.delete(_path(node.name), uid=node.uid)
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


def _cordon(node: NodeFacts, operation_id: str) -> dict[str, Any]:
    """The patch that cordons. The UID in it makes the API server refuse a node made anew meanwhile."""
    metadata: dict[str, Any] = {"uid": node.uid, "labels": {NO_LOAD_BALANCER: "true"}}
    if node.unschedulable:
        return {"metadata": metadata}
    return {"metadata": {**metadata, "annotations": {CORDONED_BY: operation_id}}, "spec": {"unschedulable": True}}


async def _sync_one(api: ClusterApi, machine: str, uid: str, call: calls.SyncNodes) -> str | None:
    for attempt in range(CONFLICTS):
        raw = await _read_raw(api, machine)
        if raw is None or raw["metadata"]["uid"] != uid:
            return None
        change = change_for(NodeFacts.of(raw).live, call.labels, call.taints)
        if change is None:
            return ""
        try:
            await api.put(_path(machine), _with(raw, change))
        except ClusterError as error:
            if error.status == 409 and attempt < CONFLICTS - 1:
                continue
            raise
        return change.summary
    return None


def _with(raw: dict[str, Any], change: NodeChange) -> dict[str, Any]:
    """The Node with the change made, to be written under the version it was read with.

    A whole write and not a patch: a patch of `spec.taints` would replace what others put there meanwhile.
    """
    meta, spec = raw["metadata"], raw.setdefault("spec", {})
    labels = dict(meta.get("labels") or {})
    for key, value in change.labels.items():
        if value is None:
            labels.pop(key, None)
        else:
            labels[key] = value
    meta["labels"] = labels
    meta["annotations"] = {**(meta.get("annotations") or {}), **change.annotations}
    if change.taints is not None:
        known = {(t["key"], t.get("value", ""), t["effect"]): t for t in spec.get("taints") or []}
        spec["taints"] = [
            known.get(taint, {"key": taint[0], "value": taint[1], "effect": taint[2]}) for taint in change.taints
        ]
    return raw


def _same(node: NodeFacts, machine: str, server_id: int | None, uid: str | None) -> bool:
    """Whether the node of this name is the machine's.

    A UID that is not the known one is still the machine's where its provider id names the machine's server: somebody
    deleted the Node and the kubelet was made to register anew.
    """
    known = uid is not None and node.provider_id != f"hcloud://{server_id}"
    return node.uid == uid if known else is_node_of(node, machine, server_id)


async def _read(api: ClusterApi, name: str) -> NodeFacts | None:
    raw = await _read_raw(api, name)
    return None if raw is None else NodeFacts.of(raw)


async def _read_raw(api: ClusterApi, name: str) -> dict[str, Any] | None:
    try:
        return await api.get(_path(name))
    except ClusterError as error:
        if error.status == 404:
            return None
        raise


def _path(name: str) -> str:
    return f"/api/v1/nodes/{name}"
