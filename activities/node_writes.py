"""Reading and writing one Node that others write at the same time: nothing of theirs is lost, no other is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from activities.cluster_api import ClusterApi
from activities.cluster_errors import ClusterError
from activities.node_facts import NodeFacts, is_node_of
from core.node_sync import LiveNode, NodeChange

CONFLICTS = 5  # how often a node that others write at the same time is read again before Temporal retries
_MOVED = (404, 409)  # the node changed or went between the read and the write


@dataclass(frozen=True)
class Written:
    """A node that is now as it should be: its UID, and what was changed in words; '' where nothing had to be."""

    uid: str
    summary: str = ""


async def write_node(
    api: ClusterApi, name: str, meant: Callable[[NodeFacts], bool], decide: Callable[[LiveNode], NodeChange | None]
) -> Written | None:
    """Make the change that `decide` wants of the node as it is; None where there is no node that is `meant`.

    Raises ClusterError, with status 409 for a node that others write all the time.
    """
    attempt = 0
    while True:
        raw = await _read(api, name)
        if raw is None or not meant(node := NodeFacts.of(raw)):
            return None
        change = decide(node.live)
        if change is None:
            return Written(node.uid)
        try:
            await api.put(node_path(name), _with(raw, change))
        except ClusterError as error:
            attempt += 1
            if error.status not in _MOVED or attempt == CONFLICTS:
                raise
        else:
            return Written(node.uid, change.summary)


async def read_node(api: ClusterApi, name: str) -> NodeFacts | None:
    """The node as it is, or None where there is none. Raises ClusterError."""
    raw = await _read(api, name)
    return None if raw is None else NodeFacts.of(raw)


def is_machines(node: NodeFacts, machine: str, server_id: int | None, uid: str | None) -> bool:
    """Whether the node of this name is the machine's.

    A UID that is not the known one is still the machine's where its provider id names the machine's server: somebody
    deleted the Node and the kubelet was made to register anew.
    """
    known = uid is not None and node.provider_id != f"hcloud://{server_id}"
    return node.uid == uid if known else is_node_of(node, machine, server_id)


def node_path(name: str) -> str:
    """The node's address."""
    return f"/api/v1/nodes/{name}"


async def _read(api: ClusterApi, name: str) -> dict[str, Any] | None:
    try:
        return await api.get(node_path(name))
    except ClusterError as error:
        if error.status == 404:
            return None
        raise


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
    notes = {**(meta.get("annotations") or {}), **change.annotations}
    meta["annotations"] = {key: text for key, text in notes.items() if key not in change.dropped}
    if change.unschedulable is not None:
        spec["unschedulable"] = change.unschedulable
    if change.taints is not None:
        known = {(t["key"], t.get("value", ""), t["effect"]): t for t in spec.get("taints") or []}
        spec["taints"] = [
            known.get(taint, {"key": taint[0], "value": taint[1], "effect": taint[2]}) for taint in change.taints
        ]
    return raw
