"""One drain under way: look, evict what may go, and judge whether it is over."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

from activities.beating import check_shutdown
from activities.cluster_api import ClusterApi
from activities.cluster_errors import ClusterError
from activities.drain_pods import Answer, Verdict, evict, pods_on, volumes_on
from activities.node_facts import NodeFacts
from core import machine_calls
from core.drain import Pod, PodKind, next_group
from core.drain_holds import Holds, Pauses
from core.machine_calls import DrainOutcome, DrainResult, Hold

AT_ONCE = 10  # evictions in flight
LATE = timedelta(seconds=30)  # after a grace period's end; then the pod is reported
DETACH_S = 120.0  # how long volumes may take to be detached after the last pod
_SILENT_GRACE_S = 1  # nobody runs the pods of a silent node: there is nothing to end in order


class Drain:
    """The state of one drain call."""

    def __init__(self, call: machine_calls.DrainNode, pauses: Pauses, look_s: float) -> None:
        self._call = call
        self._look_s = look_s
        self._holds = Holds(call.known_holds, pauses)
        self._evicted: set[str] = set()
        self._first: set[str] | None = None
        self._left: list[Pod] = []
        self._empty_since: float | None = None

    def progress(self) -> dict[str, object]:
        """For the heartbeat."""
        blocked = [hold.model_dump() for hold in self._holds.reported]
        terminating = sum(pod.kind is PodKind.TERMINATING for pod in self._left)
        return {"evicted": len(self._evicted), "terminating": terminating, "blocked": blocked}

    def result(self, outcome: DrainOutcome) -> DrainResult:
        """Where the drain stands."""
        return DrainResult(outcome=outcome, evicted=len(self._evicted), holds=self._holds.reported)

    async def run(self, api: ClusterApi) -> DrainResult:
        """Go on until there is something to tell. Raises ClusterError."""
        while True:
            node = await self._node(api)
            if node is None:
                return self.result(DrainOutcome.NODE_GONE)
            over = await self._round(api, silent=node.ready is None)
            if over:
                return self.result(DrainOutcome.DRAINED)
            if datetime.now(UTC) >= self._call.deadline:
                self._note_left()
                return self.result(DrainOutcome.TIMED_OUT)
            if self._holds.news:
                return self.result(DrainOutcome.HELD)
            check_shutdown()
            await asyncio.sleep(self._look_s)

    async def _node(self, api: ClusterApi) -> NodeFacts | None:
        try:
            node = NodeFacts.of(await api.get(f"/api/v1/nodes/{self._call.machine}"))
        except ClusterError as error:
            if error.status == 404:
                return None
            raise
        return node if node.uid == self._call.node_uid else None

    async def _round(self, api: ClusterApi, *, silent: bool) -> bool:
        """Look once and evict what may go. Whether nothing is left to wait for.

        On a silent node terminating pods and volumes are not waited for: its kubelet reports no end of either.
        """
        pods = await pods_on(api, self._call.machine)
        evictable = [pod for pod in pods if pod.kind is PodKind.EVICTABLE and not self._returned(pod, pods)]
        terminating = [pod for pod in pods if pod.kind is PodKind.TERMINATING and not silent]
        self._note_late(evictable, terminating)
        if evictable or terminating:
            await self._evict_due(api, evictable, terminating, silent=silent)
            return False
        staying = sum(pod.claims for pod in pods if pod.kind in (PodKind.DAEMON, PodKind.MIRROR))
        return silent or await self._detached(api, staying)

    def _returned(self, pod: Pod, pods: list[Pod]) -> bool:
        """Whether the pod came back to the cordoned node, which it tolerates: evicting it again would never end."""
        if self._first is None:
            self._first = {each.uid for each in pods}
        return pod.tolerates_cordon and pod.uid not in self._first

    def _note_late(self, evictable: list[Pod], terminating: list[Pod]) -> None:
        self._left = evictable + terminating
        self._holds.keep({pod.label for pod in self._left})
        for pod in terminating:
            if pod.gone_by is not None and datetime.now(UTC) > pod.gone_by + LATE:
                text = f"it is still terminating {LATE.seconds} s after its grace period ended"
                self._holds.hold(Hold(pod=pod.label, message=text))
            else:
                self._holds.lift(pod.label)

    def _note_left(self) -> None:
        """Say of every pod that is cut off why it was still there."""
        for pod in self._left:
            if pod.label not in self._holds.pods:
                leaving = pod.kind is PodKind.TERMINATING or pod.uid in self._evicted
                text = "it is still terminating" if leaving else "its eviction was not answered in time"
                self._holds.hold(Hold(pod=pod.label, message=text))

    async def _evict_due(self, api: ClusterApi, evictable: list[Pod], terminating: list[Pod], *, silent: bool) -> None:
        held = self._holds.pods
        wanted = next_group(evictable, terminating, held) + [pod for pod in evictable if pod.label in held]
        slots, grace_s = asyncio.Semaphore(AT_ONCE), _SILENT_GRACE_S if silent else None

        async def one(pod: Pod) -> None:
            async with slots:
                if self._holds.due(pod.label, time.monotonic()):
                    self._take(pod, await evict(api, pod, grace_s))

        await asyncio.gather(*map(one, wanted))

    def _take(self, pod: Pod, answer: Answer) -> None:
        if answer.verdict is Verdict.ACCEPTED:
            self._evicted.add(pod.uid)
        if answer.verdict in (Verdict.ACCEPTED, Verdict.GONE):
            self._holds.lift(pod.label)
            return
        if answer.hold is not None:
            self._holds.hold(answer.hold)
        self._holds.wait(pod.label, time.monotonic(), asked_s=answer.retry_after_s, final=answer.final)

    async def _detached(self, api: ClusterApi, staying: int) -> bool:
        """Whether no volume of a moved pod is attached any more: deleting the server under it could cost its data."""
        if await volumes_on(api, self._call.machine) <= staying:
            return True
        self._empty_since = self._empty_since or time.monotonic()
        return time.monotonic() - self._empty_since >= DETACH_S
