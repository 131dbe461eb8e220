"""`RetireMachine`: cordon, drain, delete, and see it gone."""

from __future__ import annotations

from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, CancelledError

from core import machine_calls
from core.events import Reason
from core.machine import DEADLINES, Phase, Presence
from core.machine_calls import DrainOutcome
from workflows.calling import failure_of, run, start
from workflows.messages import RETIRE_WORKFLOW
from workflows.operation import Operation, OperationInput

DRAIN_TIME = DEADLINES[Phase.DRAINING]


@workflow.defn(name=RETIRE_WORKFLOW)
class RetireMachine(Operation):
    """Remove one machine with its pods moved first, within their disruption budgets, and nothing left behind."""

    kind = "retire"

    @workflow.init
    def __init__(self, given: OperationInput) -> None:
        super().__init__(given)

    @workflow.run
    async def run(self, given: OperationInput) -> str:
        """Retire the machine. Returns how the drain ended, for the reader of the history."""
        await self.gate()
        await self.report(Reason.DRAIN_STARTED, f"cordon {given.machine} and evict its pods", phase=Phase.DRAINING)
        drained = await self._drain()
        await workflow.wait_condition(lambda: not self.held)
        await self.report(Reason.DRAINED, drained, phase=Phase.DELETING)
        await self.remove()
        await self.report(Reason.SERVER_DELETED, f"{given.machine} is gone", phase=Phase.GONE, done=True)
        return drained

    @workflow.signal(description="Hold before the next mutation (true), or go on (false).")
    def hold(self, held: bool) -> None:
        """Hold before the next mutation, or go on."""
        self.set_hold(held)

    async def _drain(self) -> str:
        """Cordon and drain until the pods are gone or the time is over."""
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
                ),
                summary=f"cordon {self.given.machine}",
                patience=DRAIN_TIME,
            )
        except ActivityError as error:
            return await self._forced(f"the cluster did not answer: {failure_of(error)}")
        if cordoned.presence is not Presence.PRESENT or cordoned.node_uid is None:
            return "there was no node to drain"
        self.node_uid = cordoned.node_uid
        return await self._evict(cordoned.node_uid, deadline)

    async def _evict(self, node_uid: str, deadline: datetime) -> str:
        evicted, holds = 0, list[machine_calls.Hold]()
        while True:
            deadline += await self._time_held()
            result = await self._evict_until_told(node_uid, deadline, holds)
            if result is None:
                continue  # held in the middle of the drain; goes on from there
            evicted += result.evicted
            holds = result.holds
            if result.outcome is DrainOutcome.TIMED_OUT:
                return await self._forced("; ".join(f"{hold.pod}: {hold.message}" for hold in holds[:5]))
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

    async def _forced(self, why: str) -> str:
        minutes = int(DRAIN_TIME.total_seconds() // 60)
        await self.report(Reason.DRAIN_FORCED, f"not drained within {minutes} minutes: {why}")
        return f"drain ended by its timeout: {why}"
