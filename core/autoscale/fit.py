"""The predicates: whether a node takes a pod, and if not, why, with the arithmetic.

They are the filters of the default scheduler that can be told from the objects alone. No scoring, no preemption.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.autoscale.groups import Kinds
from core.autoscale.nodes import Node
from core.autoscale.pods import Pod
from core.autoscale.quantities import shown
from core.autoscale.reasons import FitReason
from core.autoscale.rooms import Room
from core.labels import Effect, Taint

_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect=Effect.NO_SCHEDULE)
PLENTY = 1_000_000  # more pods than any decision is about


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a pod does not fit."""

    reason: FitReason
    message: str


def node_misfit(pod: Pod, node: Node) -> Misfit | None:
    """Why the pod may not use the node, by what the node is and not by what it holds."""
    if node.unschedulable and not _tolerated(pod, _CORDON):
        return Misfit(FitReason.CORDONED, "it is cordoned")
    for taint in node.taints:
        if taint.effect is not Effect.PREFER_NO_SCHEDULE and not _tolerated(pod, taint):
            return Misfit(FitReason.TAINT, f"its taint {taint} is not tolerated")
    return affinity_misfit(pod, node) or _volume_misfit(pod, node)


def affinity_misfit(pod: Pod, node: Node) -> Misfit | None:
    """Why the node is not one of those that the pod asks for."""
    for key, value in pod.node_selector:
        if node.labels.get(key) != value:
            return Misfit(FitReason.AFFINITY, f"the pod selects {key}={value} and it has {_label(node, key)}")
    if pod.affinity is not None and not any(term.matches(node.name, node.labels) for term in pod.affinity):
        wanted = " or ".join(str(term) for term in pod.affinity) or "nothing"
        return Misfit(FitReason.AFFINITY, f"the pod requires {wanted}")
    return None


def taints_tolerated(pod: Pod, node: Node) -> bool:
    """Whether no taint of the node keeps the pod off."""
    return all(taint.effect is Effect.PREFER_NO_SCHEDULE or _tolerated(pod, taint) for taint in node.taints)


def room_misfit(pod: Pod, kind: int, room: Room, kinds: Kinds) -> Misfit | None:
    """Why there is no place for one more such pod beside those on the node. Spreads are not looked at."""
    for resource, amount in pod.requests:
        free = room.free.get(resource, 0)
        if amount > free:
            total = room.node.allocatable.get(resource, 0)
            left = f"{shown(resource, free)} of {shown(resource, total)} is free"
            return Misfit(FitReason.RESOURCE, f"{resource} {shown(resource, amount)} is asked and {left}")
    clash = room.port_clash(pod) if pod.ports else None
    if clash:
        return Misfit(FitReason.PORT, f"its port {clash[2]}/{clash[1]} is taken")
    if any(room.holding(kinds.selected(selector)) for selector in pod.apart):
        return Misfit(FitReason.ANTI_AFFINITY, "a pod there is one that the pod keeps away from")
    if room.apart and any(n > 0 and kind in kinds.selected(selector) for selector, n in room.apart.items()):
        return Misfit(FitReason.ANTI_AFFINITY, "a pod there keeps the pod away")
    return None


def how_many(pod: Pod, kind: int, room: Room, kinds: Kinds) -> int:
    """How many such pods the node takes at once, without a look at spreads."""
    count, free = PLENTY, room.free
    for resource, amount in pod.requests:
        left = free.get(resource, 0)
        if left < amount:
            return 0
        count = min(count, left // amount)
    if not (pod.ports or pod.apart or room.apart):
        return count
    if room_misfit(pod, kind, room, kinds):
        return 0
    alone = pod.ports or any(kind in kinds.selected(selector) for selector in pod.apart)
    return 1 if alone else count


def _volume_misfit(pod: Pod, node: Node) -> Misfit | None:
    for terms in pod.volumes:
        if not any(term.matches(node.name, node.labels) for term in terms):
            where = " or ".join(str(term) for term in terms)
            return Misfit(FitReason.VOLUME, f"a volume of the pod needs {where}")
    return None


def _tolerated(pod: Pod, taint: Taint) -> bool:
    return any(toleration.tolerates(taint.key, taint.value, taint.effect) for toleration in pod.tolerations)


def _label(node: Node, key: str) -> str:
    return f"{key}={node.labels[key]}" if key in node.labels else "no such label"
