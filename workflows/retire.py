"""`RetireMachine`: cordon, drain, delete, and see it gone.

A machine that the autoscaler finds unneeded is removed so as to be missed by nobody: its node is tainted too, looked
at once more after a moment, and where its pods do not go easily all of that is undone and the machine stays.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, CancelledError

from core import autoscale_calls, machine_calls
from core.events import Reason
from core.machine import DEADLINES, Phase, Presence
from core.machine_calls import DrainOutcome
from workflows.calling import failure_of, run, start
from workflows.messages import RETIRE_WORKFLOW
from workflows.operation import Operation, OperationInput

DRAIN_TIME = DEADLINES[Phase.DRAINING]
# Cluster Autoscaler's times for a node that it removes: between taint and second look, for pods to end (its greatest
# grace period), and for a budget to allow an eviction.
SETTLE = timedelta(seconds=5)
SCALE_DOWN_TIME = timedelta(minutes=10)
EVICTION_PATIENCE = timedelta(minutes=2)
RECHECK_PATIENCE = timedelta(minutes=1)


class Resisted(Exception):
    """An unneeded machine cannot be removed easily; its text says why."""


@workflow.defn(name=RETIRE_WORKFLOW)
class RetireMachine(Operation):
    """Remove one machine with its pods moved first, within their disruption budgets, and nothing left behind."""

    kind = "retire"

    @workflow.init
    def __init__(self, given: OperationInput) -> None:
        super().__init__(given)
        self.yielding = bool(given.unneeded)

    @workflow.run
    async def run(self, given: OperationInput) -> str:
        """Retire the machine. Returns how the drain ended, for the reader of the history."""
        await self.gate()
        await self.report(Reason.DRAIN_STARTED, f"cordon {given.machine} and evict its pods", phase=Phase.DRAINING)
        try:
            drained = await self._drain()
        except Resisted as error:
            return await self._give_up(str(error))
        await workflow.wait_condition(lambda: not self.held)
        await self.report(Reason.DRAINED, drained, phase=Phase.DELETING)
        await self.remove()
        await self.report(Reason.SERVER_DELETED, f"{given.machine} is gone", phase=Phase.GONE, done=True)
        return drained

    @workflow.signal(description="Hold before the next mutation (true), or go on (false).")
    def hold(self, held: bool) -> None:
        """Hold before the next mutation, or go on."""
        self.set_hold(held)

    @workflow.signal(description="Go on to the end, whatever resists: the pool is being deleted.")
    def insist(self) -> None:
        """The machine goes now for another reason than that it is unneeded."""
        self.yielding = False

    async def _drain(self) -> str:
        """Cordon and drain until the pods are gone or the time is over. Raises Resisted."""
        deadline = workflow.now() + DRAIN_TIME
        try:
            cordoned = await run(
                machine_calls.CORDON_NODE,
                machine_calls.CordonNode(
                    cluster=self.cluster,
                    machine=self.given.machine,
                    server_id=self.server_id,
                    node_uid=self.node_uid,
                    operation_id=self.given.operation_id,
                    taint=self.yielding,
                ),
                summary=f"cordon {self.given.machine}",
                patience=DRAIN_TIME,
            )
        except ActivityError as error:
            return await self._ended_early(f"the cluster did not answer: {failure_of(error)}")
        if cordoned.presence is not Presence.PRESENT or cordoned.node_uid is None:
            return "there was no node to drain"
        self.node_uid = cordoned.node_uid
        if self.yielding:
            await self._recheck(cordoned.node_uid)
            deadline = workflow.now() + SCALE_DOWN_TIME
        return await self._evict(cordoned.node_uid, deadline)

    async def _recheck(self, node_uid: str) -> None:
        """Let the cordon settle, then look whether the node is still unneeded. Raises Resisted."""
        await workflow.sleep(SETTLE, summary="let the scheduler see the taint")
        await self._time_held()
        try:
            checked = await run(
                autoscale_calls.RECHECK_NODE,
                autoscale_calls.RecheckNode(
                    cluster=self.cluster, node=self.given.machine, node_uid=node_uid, empty=self.given.empty
                ),
                summary=f"has a pod landed on {self.given.machine} meanwhile?",
                patience=RECHECK_PATIENCE,
            )
        except ActivityError as error:
            checked = autoscale_calls.Rechecked(stays=f"the cluster did not answer: {failure_of(error)}")
        if checked.stays and self.yielding:
            raise Resisted(checked.stays)

    async def _evict(self, node_uid: str, deadline: datetime) -> str:
        evicted, holds = 0, list[machine_calls.Hold]()
        held_since = workflow.now()
        while True:
            away = await self._time_held()
            deadline, held_since = deadline + away, held_since + away
            latest = min(deadline, held_since + EVICTION_PATIENCE) if holds and self.yielding else deadline
            result = await self._evict_until_told(node_uid, latest, holds)
            if result is None:
                continue  # held in the middle of the drain; goes on from there
            evicted += result.evicted
            if not holds:
                held_since = workflow.now()
            holds = result.holds
            if result.outcome is DrainOutcome.TIMED_OUT:
                if not self.yielding and latest < deadline:
                    continue  # the pool is being deleted since: its drain has the whole time
                return await self._ended_early("; ".join(f"{hold.pod}: {hold.message}" for hold in holds[:5]))
            if result.outcome is not DrainOutcome.HELD:
                return f"drained: {evicted} pods evicted"
            if holds:
                first = holds[0]
                budget = f" for budget {first.budget}" if first.budget else ""
                more = f" and {len(holds) - 1} more" if len(holds) > 1 else ""
                await self.report(Reason.DRAIN_WAITING, f"waits{budget}: {first.pod}: {first.message}{more}")

    async def _time_held(self) -> timedelta:
        """Wait while the pool is frozen. Returns for how long that was: a drain's time does not run meanwhile."""
        begun = workflow.now()
        await workflow.wait_condition(lambda: not self.held)
        return workflow.now() - begun

    async def _evict_until_told(
        self, node_uid: str, deadline: datetime, holds: list[machine_calls.Hold]
    ) -> machine_calls.DrainResult | None:
        """One drain call; None when the pool was frozen meanwhile and the call was stopped."""
        handle = start(
            machine_calls.DRAIN_NODE,
            machine_calls.DrainNode(
                cluster=self.cluster,
                machine=self.given.machine,
                node_uid=node_uid,
                deadline=deadline,
                known_holds=holds,
            ),
            summary=f"drain {self.given.machine}",
        )
        await workflow.wait_condition(lambda: handle.done() or self.held)
        if not handle.done():
            handle.cancel()
        try:
            return await handle
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                return None  # stopped between two evictions, and seen stopped
            raise

    async def _ended_early(self, why: str) -> str:
        """The drain's time is over: an unneeded machine stays then, any other goes anyway. Raises Resisted."""
        if self.yielding:
            raise Resisted(f"not drained in time: {why}")
        minutes = int(DRAIN_TIME.total_seconds() // 60)
        await self.report(Reason.DRAIN_FORCED, f"not drained within {minutes} minutes: {why}")
        return f"drain ended by its timeout: {why}"

    async def _give_up(self, why: str) -> str:
        """Leave the machine as it was: undo on its node what was done there."""
        if self.node_uid is not None:
            await run(
                autoscale_calls.UNCORDON_NODE,
                autoscale_calls.UncordonNode(
                    cluster=self.cluster,
                    machine=self.given.machine,
                    node_uid=self.node_uid,
                    operation_id=self.given.operation_id,
                    why=why,
                ),
                summary=f"undo the cordon of {self.given.machine}",
            )
        await self.report(Reason.SCALE_DOWN_FAILED, f"{self.given.machine} stays: {why}", phase=Phase.READY, done=True)
        return f"given up: {why}"
