"""Whether the pods of a node may be moved: upstream's rules, in its order and by its names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from core.autoscale.cluster import Budget, Cluster
from core.autoscale.pods import Pod
from core.autoscale.reasons import BlockingReason

REPLICATED = ("ReplicationController", "ReplicaSet", "StatefulSet", "Job")
COUNTED = ("ReplicationController", "ReplicaSet")  # the kinds whose replicas the least number is asked of
LINGERING = timedelta(seconds=30)  # upstream's PodLongTerminatingExtraThreshold, after the grace period


@dataclass(frozen=True, slots=True)
class Block:
    """A pod that keeps its node, and why."""

    pod: Pod
    reason: BlockingReason
    message: str


def lingers(pod: Pod, now: datetime) -> bool:
    """Whether the pod should have ended long ago: nothing waits for it. Its deletion time has the grace in it."""
    return pod.deleted is not None and now > pod.deleted + LINGERING


def moves(pod: Pod, now: datetime) -> bool:
    """Whether the pod must find another node when its own goes."""
    return not (pod.mirror or pod.daemon or pod.finished or lingers(pod, now))


def block(pod: Pod, cluster: Cluster, now: datetime) -> Block | None:
    """Why a pod that must move may not."""
    found = _controller(pod, cluster)
    if found is None and pod.safe_to_evict != "true":
        found = _itself(pod, cluster, now)
    # Upstream lets a pod that is safe to evict pass here. The API would refuse its eviction all the same.
    found = found or _budgets(pod, cluster)
    return Block(pod, *found) if found else None


def _controller(pod: Pod, cluster: Cluster) -> tuple[BlockingReason, str] | None:
    owner = pod.controller
    if owner is None or owner.kind not in REPLICATED:
        return None
    replicas = cluster.controllers.get(f"{owner.kind}/{pod.namespace}/{owner.name}")
    if replicas is None:
        return BlockingReason.CONTROLLER_NOT_FOUND, f"its {owner.kind} {owner.name} does not exist"
    least = cluster.options.min_replicas
    if owner.kind in COUNTED and replicas < least:
        return BlockingReason.MIN_REPLICAS, f"its {owner.kind} {owner.name} has {replicas} replicas of at least {least}"
    return None


def _itself(pod: Pod, cluster: Cluster, now: datetime) -> tuple[BlockingReason, str] | None:
    if pod.controller is None or pod.controller.kind not in REPLICATED:
        by = f"only by {pod.controller.kind} {pod.controller.name}" if pod.controller else "by nothing"
        return BlockingReason.NOT_REPLICATED, f"it would be made again {by}"
    if pod.namespace == "kube-system" and not _matching(pod, cluster):
        age = now - pod.created if pod.created else timedelta(0)
        limit = cluster.options.system_pod_age
        if age < limit:
            had = f"is {minutes(age)} old of {minutes(limit)}"
            return BlockingReason.KUBE_SYSTEM, f"a pod of kube-system without a disruption budget, and it {had}"
    if pod.safe_to_evict in ("false", "on-completion"):
        return BlockingReason.NOT_SAFE, f"its annotation safe-to-evict is {pod.safe_to_evict}"
    if pod.local_volumes:
        return BlockingReason.LOCAL_STORAGE, f"its volume {pod.local_volumes[0]} is on the node"
    return None


def _budgets(pod: Pod, cluster: Cluster) -> tuple[BlockingReason, str] | None:
    for budget in sorted(_matching(pod, cluster), key=lambda budget: budget.name):
        if budget.allowed < 1:
            return BlockingReason.PDB, f"its budget {budget.name} allows {budget.allowed} disruptions now"
    return None


def _matching(pod: Pod, cluster: Cluster) -> list[Budget]:
    labels = dict(pod.labels)
    return [budget for budget in cluster.budgets if budget.selector.selects(pod.namespace, labels)]


def minutes(time: timedelta) -> str:
    """A time as a person reads it: whole minutes, or seconds below two of them."""
    seconds = time.total_seconds()
    return f"{seconds:.0f} s" if seconds < 120 and seconds % 60 else f"{seconds // 60:.0f} min"
