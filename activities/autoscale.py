"""The autoscaler's eyes: it decides beside the cluster's cache and tells a workflow only what is to be done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any

from temporalio import activity

from activities.beating import beating
from activities.cluster_api import ClusterApis
from activities.cluster_errors import ClusterError, as_temporal
from activities.cluster_view import ClusterView, ClusterViews, Parts
from activities.decision_events import DecisionEvents
from activities.drain_pods import pods_on
from core import autoscale_calls
from core.autoscale.assemble import Assembled, assemble
from core.autoscale.cluster import Cluster, Options
from core.autoscale.decide import Decision, decide
from core.autoscale.explain import explain
from core.autoscale.outcome import is_news, outcome, wake_at
from core.autoscale.recheck import recheck
from core.autoscale_calls import Autoscale, Decided, Explanation, Rechecked
from core.calls import ClusterRef, Health
from core.drain import PodKind

# Pods that arrive together are decided on together: when no second one came for QUIET_S, or, after it did, no further
# one for BURST_S; at the latest after TOGETHER_S.
QUIET_S = 0.12
BURST_S = 0.4
TOGETHER_S = 2.0
# What can only free nodes is looked at as often as Cluster Autoscaler looks at all; and without any change this often,
# for the rules that turn on a pod's age.
CALM_S = 10.0
AGAIN_S = 60.0
FIRST_LOOK_S = 20.0  # how long somebody who waits for an answer waits for the first look at a cluster


class AutoscaleActivities:
    """Decides for clusters. `options` hold for all of them."""

    def __init__(self, apis: ClusterApis, views: ClusterViews, telling: DecisionEvents, options: Options) -> None:
        self._apis = apis
        self._views = views
        self._telling = telling
        self._options = options
        self._turns: dict[tuple[str, str], object] = {}

    @activity.defn(name=autoscale_calls.AUTOSCALE.name)
    async def autoscale(self, call: Autoscale) -> Decided:
        """Return what is to be done or remembered as soon as there is something, or nothing when the time is over."""
        begun = time.monotonic()
        end = begun + call.wait_s
        key, turn = (call.cluster.organization, call.cluster.cluster), object()
        self._turns[key] = turn  # a question that was asked before this one is no longer waited for
        async with beating(lambda: call.cluster.cluster):
            while self._turns[key] is turn:
                view = self._views.of(call.cluster)
                await _quiet(view)
                urgent, generation = view.urgent, view.generation
                decided, pause = _blind(view, call, time.monotonic() - begun), AGAIN_S
                if view.synced:
                    parts = view.parts()
                    decision, decided, pause = await self._decide(parts, call)
                    if self._turns[key] is turn:
                        self._telling.tell(call.cluster, decision, parts)
                left = end - time.monotonic()
                if is_news(decided) or left <= 0 or activity.is_worker_shutdown():
                    return decided
                calm = CALM_S if view.synced else QUIET_S
                await _rest(view.wait(urgent, generation, min(pause, left), min(calm, left)))
        return Decided()

    @activity.defn(name=autoscale_calls.EXPLAIN.name)
    async def explain(self, call: autoscale_calls.Explain) -> Explanation:
        """What a decision says of one object, or of all; nothing is done about it."""
        ground = self._assemble(await self._seen(call.given.cluster), call.given)
        decision = await asyncio.to_thread(decide, ground.cluster, datetime.now(UTC))
        return explain(ground, decision, call.about)

    @activity.defn(name=autoscale_calls.RECHECK_NODE.name)
    async def recheck_node(self, call: autoscale_calls.RecheckNode) -> Rechecked:
        """Whether a cordoned node may still go. Its pods are read anew: a cache may be a moment late."""
        parts = await self._seen(call.cluster)
        if parts.uids.get(f"node/{call.node}", call.node_uid) != call.node_uid:
            return Rechecked(stays="its Node was made anew meanwhile")
        known = {pod.key for pod in parts.pods if pod.node == call.node}
        try:
            found = await pods_on(await self._apis.get(call.cluster), call.node)
        except ClusterError as error:
            raise as_temporal(error) from error
        landed = sorted(pod.label for pod in found if pod.kind is PodKind.EVICTABLE and pod.label not in known)
        if landed:
            return Rechecked(stays=f"{landed[0]} has landed on it")
        return Rechecked(stays=recheck(self._cluster(parts), call.node, call.empty, datetime.now(UTC)))

    async def _decide(self, parts: Parts, call: Autoscale) -> tuple[Decision, Decided, float]:
        """A decision, what is new in it, and after how many seconds time alone may bring something."""
        ground, now = self._assemble(parts, call), datetime.now(UTC)
        # In a thread of its own: while a large cluster is decided, heartbeats and other pools go on.
        decision = await asyncio.to_thread(decide, ground.cluster, now)
        wake = wake_at(ground.cluster, decision, now)
        pause = AGAIN_S if wake is None else min(AGAIN_S, max(0.0, (wake - now).total_seconds()))
        return decision, outcome(call, decision, ground.measured), pause

    def _assemble(self, parts: Parts, call: Autoscale) -> Assembled:
        return assemble(self._cluster(parts), parts.working, call)

    def _cluster(self, parts: Parts) -> Cluster:
        return Cluster(
            nodes=parts.nodes,
            pods=parts.pods,
            pools=(),
            daemons=parts.daemons,
            budgets=parts.budgets,
            controllers=parts.controllers,
            options=self._options,
        )

    async def _seen(self, cluster: ClusterRef) -> Parts:
        """What the cluster holds. Raises ApplicationError while it cannot be seen."""
        view = self._views.of(cluster)
        end = time.monotonic() + FIRST_LOOK_S
        while not view.synced:
            left = end - time.monotonic()
            if left <= 0:
                raise as_temporal(ClusterError(None, "NotSeen", f"the cluster cannot be seen: {view.message}"))
            await view.wait(view.urgent, view.generation, left, min(0.1, left))
        return view.parts()


def _blind(view: ClusterView, call: Autoscale, seconds: float) -> Decided:
    """That the cluster cannot be seen, where that is certain or has lasted, and was not told yet."""
    certain = view.health is Health.INVALID or (view.health is Health.UNKNOWN and seconds > FIRST_LOOK_S)
    return Decided(blind=view.message) if certain and not call.blind else Decided()


async def _rest(waiting: Coroutine[Any, Any, None]) -> None:
    """Wait, but for no longer than the worker runs."""
    tasks = [asyncio.create_task(waiting), asyncio.create_task(activity.wait_for_worker_shutdown())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def _quiet(view: ClusterView) -> None:
    """Let pods that arrive together arrive."""
    end, quiet = time.monotonic() + TOGETHER_S, QUIET_S
    while (left := end - time.monotonic()) > 0:
        before, pause = view.urgent, min(quiet, left)
        await view.wait(before, view.generation, pause, pause)
        if view.urgent == before:
            return
        quiet = BURST_S
