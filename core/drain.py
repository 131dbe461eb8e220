"""How a drain treats each pod of a node, and in which order pods go. The classes are those of `kubectl drain`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

CRITICAL = 2_000_000_000  # the priority of system-cluster-critical and above, which go last
_MIRROR = "kubernetes.io/config.mirror"
_CORDON_TAINT = "node.kubernetes.io/unschedulable"


class PodKind(StrEnum):
    """What a drain does with a pod."""

    DAEMON = "daemon"  # its DaemonSet would bring it back at once: it stays to the end
    MIRROR = "mirror"  # static: the kubelet owns it, the API cannot remove it
    FINISHED = "finished"  # Succeeded or Failed: nothing runs that must move
    TERMINATING = "terminating"  # on its way; waited for
    EVICTABLE = "evictable"  # evicted within its disruption budgets


@dataclass(frozen=True)
class Pod:
    """A pod as far as a drain needs it. `gone_by` is when its grace period ends, for one that is terminating."""

    namespace: str
    name: str
    uid: str
    kind: PodKind
    priority: int = 0
    claims: int = 0
    gone_by: datetime | None = None
    tolerates_cordon: bool = False

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Pod:
        """Read a Pod object."""
        meta, spec = raw["metadata"], raw.get("spec") or {}
        deleted = meta.get("deletionTimestamp")
        return cls(
            namespace=meta["namespace"],
            name=meta["name"],
            uid=meta["uid"],
            kind=_kind(raw),
            priority=int(spec.get("priority") or 0),
            claims=sum("persistentVolumeClaim" in volume for volume in spec.get("volumes") or []),
            gone_by=datetime.fromisoformat(deleted) if deleted else None,
            tolerates_cordon=any(_covers_cordon(toleration) for toleration in spec.get("tolerations") or []),
        )

    @property
    def label(self) -> str:
        """namespace/name."""
        return f"{self.namespace}/{self.name}"

    @property
    def rank(self) -> int:
        """Pods of a lower rank go first; all critical ones are of one rank."""
        return min(self.priority, CRITICAL)


def next_group(evictable: list[Pod], terminating: list[Pod], held: set[str]) -> list[Pod]:
    """The pods to evict now: of those that nothing holds, the ones of the lowest rank.

    A held pod keeps nobody back: at the deadline the others would be cut off with it. Critical pods wait until
    the ordinary ones, which may need them to shut down in order, have ended.
    """
    free = [pod for pod in evictable if pod.label not in held]
    lowest = min((pod.rank for pod in free), default=0)
    if lowest == CRITICAL and any(pod.rank < CRITICAL for pod in terminating):
        return []
    return [pod for pod in free if pod.rank == lowest]


def _kind(raw: Mapping[str, Any]) -> PodKind:
    meta = raw["metadata"]
    if _MIRROR in (meta.get("annotations") or {}):
        return PodKind.MIRROR
    if any(owner.get("controller") and owner["kind"] == "DaemonSet" for owner in meta.get("ownerReferences") or []):
        return PodKind.DAEMON
    if (raw.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return PodKind.FINISHED
    return PodKind.TERMINATING if meta.get("deletionTimestamp") else PodKind.EVICTABLE


def _covers_cordon(toleration: Mapping[str, Any]) -> bool:
    """Whether a pod with this toleration can be scheduled to a cordoned node."""
    everything = not toleration.get("key") and toleration.get("operator") == "Exists"
    return (everything or toleration.get("key") == _CORDON_TAINT) and toleration.get("effect", "") in ("", "NoSchedule")
