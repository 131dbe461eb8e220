"""A Node as far as anything here needs it, read from raw JSON."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from core.autoscale.nodes import Node, read_node
from core.machine import Presence
from core.machine_calls import NodeSeen
from core.node_sync import LiveNode

# Taints that keep pods away until somebody has set the node up, with who that is.
_SET_UP_BY = {
    "node.cloudprovider.kubernetes.io/uninitialized": "the cloud controller to initialize it",
    "node.cilium.io/agent-not-ready": "its CNI: Cilium's agent is not ready",
    "node.kubernetes.io/network-unavailable": "its CNI: the network is not available",
    "node.kubernetes.io/not-ready": "the cluster to take note that it is ready",
}


@dataclass(frozen=True)
class NodeFacts:
    """One Node. `ready` is None while it has no Ready condition or it is Unknown; `shape` is what decisions need."""

    name: str
    uid: str
    provider_id: str
    version: str
    labels: dict[str, str]
    annotations: dict[str, str]
    taints: tuple[tuple[str, str, str], ...]
    unschedulable: bool
    ready: bool | None
    ready_message: str
    shape: Node

    @classmethod
    def of(cls, raw: dict[str, Any]) -> NodeFacts:
        """Read a Node object."""
        meta, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
        condition: dict[str, str] = next((c for c in status.get("conditions") or [] if c["type"] == "Ready"), {})
        return cls(
            name=meta["name"],
            uid=meta["uid"],
            provider_id=spec.get("providerID", ""),
            version=(status.get("nodeInfo") or {}).get("kubeletVersion", ""),
            labels=meta.get("labels") or {},
            annotations=meta.get("annotations") or {},
            taints=tuple((t["key"], t.get("value", ""), t["effect"]) for t in spec.get("taints") or []),
            unschedulable=bool(spec.get("unschedulable")),
            ready={"True": True, "False": False}.get(condition.get("status", "")),
            ready_message=condition.get("message", ""),
            shape=read_node(raw),
        )

    @property
    def live(self) -> LiveNode:
        """The node as those see it who decide what to write on it."""
        return LiveNode(self.labels, self.annotations, self.taints, self.unschedulable)

    @property
    def takes_work(self) -> bool:
        """Ready=True, and no taint of one that is not initialized yet."""
        return self.ready is True and not self.waiting_for

    @property
    def waiting_for(self) -> str:
        """What the node still needs, in words; '' when nothing."""
        if self.ready is None:
            return self.ready_message or "its kubelet to report"
        if not self.ready:
            missing = "cni" in self.ready_message.lower() or "network not ready" in self.ready_message.lower()
            return f"its CNI: {self.ready_message}" if missing else self.ready_message or "its kubelet to be ready"
        keys = {key for key, _, _ in self.taints}
        return next((who for taint, who in _SET_UP_BY.items() if taint in keys), "")

    def seen(self) -> NodeSeen:
        """The node as a workflow sees it."""
        parts = (self.uid, str(self.takes_work), self.waiting_for, self.version)
        return NodeSeen(
            presence=Presence.PRESENT,
            uid=self.uid,
            ready=self.takes_work,
            waiting_for=self.waiting_for,
            version=self.version,
            digest=digest(*parts),
        )


def digest(*parts: str) -> str:
    """A short fingerprint, to tell whether something changed without carrying it."""
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:16]


def is_node_of(node: NodeFacts, machine: str, server_id: int | None) -> bool:
    """Whether `node` is the machine's: of its name, and of no other Hetzner server.

    The provider id decides where it is Hetzner's; k3s may give one of its own, and it may be empty.
    """
    if node.name != machine:
        return False
    return not node.provider_id.startswith("hcloud://") or node.provider_id == f"hcloud://{server_id}"
