"""How a drain treats each pod of a node, and in which order pods go. The classes are those of `kubectl drain`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Any

CRITICAL = 2_000_000_000  # the priority of system-cluster-critical and above, which go last
_MIRROR = "kubernetes.io/config.mirror"


class PodKind(StrEnum):
    """What a drain does with a pod."""

    DAEMON = "daemon"  # its DaemonSet would bring it back at once: it stays to the end
    MIRROR = "mirror"  # static: the kubelet owns it, the API cannot remove it
    FINISHED = "finished"  # Succeeded or Failed: nothing runs that must move
    TERMINATING = "terminating"  # on its way; waited for
    EVICTABLE = "evictable"  # evicted within its disruption budgets


@dataclass(frozen=True)
class Pod:
    """A pod as far as a drain needs it. `grace_s` is its own termination grace period in seconds."""

    namespace: str
    name: str
    uid: str
    priority: int
    grace_s: int
    phase: str
    deleting: bool
    mirror: bool
    daemon: bool

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Pod:
        """Read a Pod object."""
        meta, spec = raw["metadata"], raw.get("spec") or {}
        owners = [o for o in meta.get("ownerReferences") or [] if o.get("controller")]
        return cls(
            namespace=meta["namespace"],
            name=meta["name"],
            uid=meta["uid"],
            priority=int(spec.get("priority") or 0),
            grace_s=int(spec.get("terminationGracePeriodSeconds", 30)),
            phase=str((raw.get("status") or {}).get("phase", "")),
            deleting=bool(meta.get("deletionTimestamp")),
            mirror=_MIRROR in (meta.get("annotations") or {}),
            daemon=any(owner.get("kind") == "DaemonSet" for owner in owners),
        )

    @property
    def label(self) -> str:
        """namespace/name."""
        return f"{self.namespace}/{self.name}"


def classify(pod: Pod) -> PodKind:
    """What a drain does with `pod`."""
    if pod.mirror:
        return PodKind.MIRROR
    if pod.daemon:
        return PodKind.DAEMON
    if pod.phase in ("Succeeded", "Failed"):
        return PodKind.FINISHED
    return PodKind.TERMINATING if pod.deleting else PodKind.EVICTABLE


def in_order(pods: list[Pod]) -> list[list[Pod]]:
    """Evictable pods by rising priority, critical ones last: a group goes when those before it are gone."""
    ranked = sorted(pods, key=lambda pod: (min(pod.priority, CRITICAL), pod.label))
    return [list(group) for _, group in groupby(ranked, key=lambda pod: min(pod.priority, CRITICAL))]
