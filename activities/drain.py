"""Drains a node through the Eviction API, within disruption budgets; safe to stop and to start again at any time.

Groups of rising priority, at most ten evictions at once; a pod that is held is asked for again after a pause
that grows, and the call returns as soon as other pods are held than its caller knows of.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime

from temporalio import activity

from activities.cluster_api import ClusterApi, ClusterApis
from activities.cluster_errors import ClusterError, as_temporal
from activities.drain_pods import evict, pods_on
from core import calls
from core.calls import DrainOutcome, DrainResult, Hold
from core.drain import Pod, PodKind, classify, in_order

AT_ONCE = 10
LOOK_S = 1.0  # between two looks at pods that are terminating
PAUSE_S = (5.0, 30.0)  # first and longest pause before a held pod is asked for again


@dataclass
class _Progress:
    """What one call has done so far."""

    evicted: set[str] = field(default_factory=set)
    holds: list[Hold] = field(default_factory=list)


class DrainActivities:
    """The drain. `pause_s` scales the pauses for held pods."""

    def __init__(self, apis: ClusterApis, pause_s: tuple[float, float] = PAUSE_S) -> None:
        self._apis = apis
        self._pause_s = pause_s

    @activity.defn(name=calls.DRAIN_NODE.name)
    async def drain_node(self, call: calls.DrainNode) -> DrainResult:
        """Evict until no pod is left that a drain moves, the deadline passes, or other pods are held than known."""
        try:
            return await self._drain(await self._apis.get(call.cluster), call)
        except ClusterError as error:
            raise as_temporal(error) from error

    async def _drain(self, api: ClusterApi, call: calls.DrainNode) -> DrainResult:
        done, pause = _Progress(), self._pause_s[0]
        while True:
            if not await _is_there(api, call):
                return _result(DrainOutcome.NODE_GONE, done)
            left = [pod for pod in await pods_on(api, call.machine) if classify(pod) in _MOVED]
            evictable = [pod for pod in left if classify(pod) is PodKind.EVICTABLE]
            done.holds = await _evict_group(api, in_order(evictable)[0], done) if evictable else []
            _beat(done, left)
            if not left and not await _volumes_attached(api, call.machine):
                return _result(DrainOutcome.DRAINED, done)
            if datetime.now(UTC) >= call.deadline:
                done.holds = done.holds or [Hold(pod=pod.label, message="it is still terminating") for pod in left]
                return _result(DrainOutcome.TIMED_OUT, done)
            if _names(done.holds) != _names(call.known_holds):
                return _result(DrainOutcome.HELD, done)
            await _wait(pause if done.holds else LOOK_S, call.deadline)
            pause = min(pause * 2, self._pause_s[1]) if done.holds else self._pause_s[0]


_MOVED = (PodKind.EVICTABLE, PodKind.TERMINATING)


async def _evict_group(api: ClusterApi, group: list[Pod], done: _Progress) -> list[Hold]:
    """Ask for the eviction of a group's pods; returns what holds those that stay."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(pod: Pod) -> Hold | None:
        async with slots:
            hold = await evict(api, pod)
        if hold is None:
            done.evicted.add(pod.uid)
        return hold

    return [hold for hold in await asyncio.gather(*map(one, group)) if hold is not None]


async def _is_there(api: ClusterApi, call: calls.DrainNode) -> bool:
    try:
        node = await api.get(f"/api/v1/nodes/{call.machine}")
    except ClusterError as error:
        if error.status == 404:
            return False
        raise
    return bool(node["metadata"]["uid"] == call.node_uid)


async def _volumes_attached(api: ClusterApi, node: str) -> bool:
    """Whether a volume is attached to the node: deleting the server under it could cost its data."""
    listed = await api.get("/apis/storage.k8s.io/v1/volumeattachments")
    return any(item["spec"].get("nodeName") == node for item in listed["items"])


async def _wait(seconds: float, deadline: datetime) -> None:
    left = min(seconds, max(0.0, (deadline - datetime.now(UTC)).total_seconds()))
    while left > 0:
        activity.heartbeat()
        await asyncio.sleep(min(left, 2.0))
        left -= 2.0


def _beat(done: _Progress, left: list[Pod]) -> None:
    terminating = sum(classify(pod) is PodKind.TERMINATING for pod in left)
    blocked = [hold.model_dump() for hold in done.holds[:5]]
    activity.heartbeat({"evicted": len(done.evicted), "terminating": terminating, "blocked": blocked})


def _names(holds: list[Hold]) -> set[tuple[str, str]]:
    return {(hold.pod, hold.budget) for hold in holds}


def _result(outcome: DrainOutcome, done: _Progress) -> DrainResult:
    return DrainResult(outcome=outcome, evicted=len(done.evicted), holds=done.holds[:20])
