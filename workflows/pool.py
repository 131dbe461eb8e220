"""`PoolWorkflow`: one pool from create to delete; the single owner of its machine table.

The loop is plan, act, wait. Children do one operation on one machine and report by signal; a long watch tells
what changed in the world; updates and signals change what is asked for.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from temporalio import workflow

from core.autoscale_calls import AutoscaleOrder
from core.calls import Health
from core.errors import Conflict, PoolsError
from core.events import Reason
from core.machine import BEFORE_READY
from core.planner import ActionKind, plan, would_remove
from core.spec import PoolPatch, check_size, differences, patched
from core.views import PoolView
from workflows.calling import refusals
from workflows.entity import Entity
from workflows.messages import (
    POOL_WORKFLOW,
    ChangeResult,
    CredentialNews,
    Done,
    Impact,
    MachineReport,
    PauseRequest,
    PreviewRequest,
    ScaleRequest,
)
from workflows.pool_autoscale import keep_unneeded, obey
from workflows.pool_children import Children
from workflows.pool_errands import Errands
from workflows.pool_state import PoolState
from workflows.pool_story import Story
from workflows.pool_telling import Telling
from workflows.pool_watch import PoolWatch

Asked = TypeVar("Asked", bound=BaseModel)

LOOK_AGAIN = timedelta(minutes=10)  # how often children that may have ended silently are looked for


@workflow.defn(name=POOL_WORKFLOW)
class PoolWorkflow(Entity):
    """Keeps one group of machines between its floor and its ceiling."""

    @workflow.init
    def __init__(self, state: PoolState) -> None:
        super().__init__(state)
        self.state = state
        self._dirty = True
        self._gone = False
        self._children = Children(state)
        self._watch = PoolWatch(state, self._wake)
        self._errands = Errands(state)
        self._telling = Telling(state)
        self._story = Story(state)
        self._background: set[asyncio.Task[None]] = set()

    @workflow.run
    async def run(self, state: PoolState) -> str:
        """Plan, act and wait until the pool is deleted and nothing of it is left."""
        beside = [asyncio.create_task(self._watch.run()), asyncio.create_task(self._upkeep())]
        while not self._gone:
            self._dirty = False
            wake = await self._step()
            self._story.tell()
            await self._rest(wake)
            if self._should_continue() and not self._background:
                break
        for task in beside:
            task.cancel()
        await workflow.wait_condition(workflow.all_handlers_finished)
        if not self._gone:
            workflow.continue_as_new(self.state)
        return f"deleted: nothing of pool {self.state.spec.cluster}/{self.state.spec.name} is left"

    def _wake(self) -> None:
        self._dirty = True

    async def _rest(self, wake: timedelta | None) -> None:
        """Wait until something happened, or until `wake` is over."""
        with contextlib.suppress(asyncio.TimeoutError):
            await workflow.wait_condition(
                lambda: self._dirty or self._gone, timeout=wake, timeout_summary="until creates may be tried again"
            )

    async def _upkeep(self) -> None:
        """While operations run, look now and then for those that ended without a report."""
        while True:
            await workflow.wait_condition(lambda: bool(self.state.operations))
            await workflow.sleep(LOOK_AGAIN, summary="look for children without a report")
            await self._children.find_lost()
            self._wake()

    # --- acting -------------------------------------------------------------------------------------------

    async def _step(self) -> timedelta | None:
        """Start what the plan says may start. Returns after how long there is something to do unprompted."""
        state, now = self.state, workflow.now()
        await self._children.hold(state.freeze is not None)
        if state.deleting:
            await self._children.insist()
        await self._telling.refusal()
        ahead = plan(state.spec, state.situation, now)
        syncs = [action for action in ahead.actions if action.kind is ActionKind.SYNC]
        new = [action for action in ahead.actions if action.kind is ActionKind.PROVISION]
        if len(new) > 1 and workflow.patched("begun-together"):
            # One by one they would each wait behind the reports of those that are under way already.
            await asyncio.gather(*map(self._children.provision, new))
            new = []
        for action in ahead.actions:
            if self._dirty:
                break  # what was planned may no longer be wanted: plan again before the next step
            if action in new:
                await self._children.provision(action)
            elif action.kind is ActionKind.RETIRE:
                await self._children.retire(action)
            elif action.kind is ActionKind.FINISH:
                self._start(self._finish)
        if syncs:
            self._start(lambda: self._errands.sync(syncs))
        if not self._dirty:
            keep_unneeded(state)
        state.judge(now)
        await self._telling.usage()
        await self._telling.standing()
        return max(ahead.wake_at - now, timedelta(0)) if ahead.wake_at else None

    def _start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do `work` beside the loop; one at a time, and what did not start now is planned again afterwards."""
        if self._background:
            return
        task = asyncio.create_task(work())
        self._background.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        self._wake()

    async def _finish(self) -> None:
        """End the pool once the audit finds nothing of it."""
        if await self._errands.audit():
            await self._telling.end()
            self._gone = True

    # --- being asked --------------------------------------------------------------------------------------

    @workflow.query(description="The pool in full: spec, machines, conditions, what happens next, events.")
    def describe(self) -> PoolView:
        """The pool in full."""
        return self.state.view(workflow.now())

    @workflow.update(description="Change bounds, scale-down, labels, taints or paused.")
    async def update(self, patch: PoolPatch) -> ChangeResult:
        """Change the spec."""
        return await self._once(ChangeResult, lambda: self._as_answer(lambda: self._change(patch)))

    @update.validator
    def _check_update(self, patch: PoolPatch) -> None:
        with refusals():
            self._refuse_when_deleting()
            patched(self.state.spec, patch)

    @workflow.update(description="Set the size once, inside the bounds.")
    async def scale(self, request: ScaleRequest) -> ChangeResult:
        """Set the wanted size."""
        return await self._once(ChangeResult, lambda: self._as_answer(lambda: self._scale(request)))

    @scale.validator
    def _check_scale(self, request: ScaleRequest) -> None:
        with refusals():
            self._refuse_when_deleting()
            check_size(self.state.spec, request.size)

    @workflow.update(description="Freeze the pool (true) or end the freeze (false).")
    async def pause(self, request: PauseRequest) -> ChangeResult:
        """Pause or resume."""
        patch = PoolPatch(paused=request.paused)
        return await self._once(ChangeResult, lambda: self._as_answer(lambda: self._change(patch)))

    @pause.validator
    def _check_pause(self, request: PauseRequest) -> None:
        with refusals():
            self._refuse_when_deleting()

    @workflow.update(description="Drain and remove every machine, then end.")
    async def delete(self, request: Done) -> ChangeResult:
        """Delete the pool."""
        return await self._once(ChangeResult, lambda: self._as_answer(self._delete))

    @workflow.update(description="How many servers and pods a lower max, or a delete, would remove.")
    async def preview(self, request: PreviewRequest) -> Impact:
        """Count what a change would remove; nothing changes."""
        with refusals():
            return await self._preview(request)

    @workflow.signal(
        name="update", description="Change bounds, scale-down, labels, taints or paused; a refusal is an event."
    )
    def update_signal(self, body: Any) -> None:
        """As the update, without an answer."""
        self._from_signal("update", PoolPatch, body, self._change)

    @workflow.signal(name="scale", description="Set the size once, inside the bounds; refusals become events.")
    def scale_signal(self, body: Any) -> None:
        """As the update, without an answer."""
        self._from_signal("scale", ScaleRequest, body, self._scale)

    @workflow.signal(name="pause", description="Freeze the pool or end the freeze; refusals become events.")
    def pause_signal(self, body: Any) -> None:
        """As the update, without an answer."""
        self._from_signal("pause", PauseRequest, body, lambda request: self._change(PoolPatch(paused=request.paused)))

    @workflow.signal(description="The cluster's autoscaler says which size the pool takes, or which machines go.")
    def autoscale(self, order: AutoscaleOrder) -> None:
        """Take in what the autoscaler decided."""
        obey(self.state, order, workflow.now())
        self._wake()

    @workflow.signal(description="The cluster asks to be told again where the pool stands.")
    def standing_wanted(self) -> None:
        """Tell the cluster everything anew."""
        self.state.told = None
        self._wake()

    @workflow.signal(description="A child says where its machine stands.")
    def machine_report(self, report: MachineReport) -> None:
        """Take in a child's report."""
        self.state.absorb_report(report, workflow.now())
        self._wake()

    @workflow.signal(description="The organization says how the pool's credential is.")
    def credential_news(self, news: CredentialNews) -> None:
        """Freeze on an invalid credential, thaw on a valid one."""
        state = self.state
        refused = news.health is Health.INVALID
        if refused != state.credential_refused:
            reason = Reason.CREDENTIAL_REFUSED if refused else Reason.CREDENTIAL_RESTORED
            state.note(workflow.now(), reason, news.message)
        state.credential_refused = state.refusal_told = refused
        state.message = news.message if refused else ""
        if not refused:
            state.backoff = None
            self._watch.renew()
        self._wake()

    # --- changing -----------------------------------------------------------------------------------------

    async def _as_answer(self, act: Callable[[], ChangeResult]) -> ChangeResult:
        """The answer to `act`. That a pool is paused is said once every running operation has been told."""
        answer, frozen = act(), self.state.freeze is not None
        told = all(operation.held == frozen for operation in self.state.operations.values())
        if not told and workflow.patched("told-before-answered"):
            await self._children.hold(frozen)
        return answer

    def _from_signal(self, name: str, kind: type[Asked], body: Any, act: Callable[[Asked], object]) -> None:
        """Carry out what a signal asks for, or write down why not; a bad signal never fails a task."""
        try:
            self._refuse_when_deleting()
            act(kind.model_validate(body))
        except ValidationError as error:
            problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'body'}: {e['msg']}" for e in error.errors())
            self.state.note(workflow.now(), Reason.REQUEST_REFUSED, f"signal {name}: {problems}")
        except PoolsError as error:
            self.state.note(workflow.now(), Reason.REQUEST_REFUSED, f"signal {name}: {error.message}")
        self._wake()

    def _refuse_when_deleting(self) -> None:
        if self.state.deleting:
            spec = self.state.spec
            raise Conflict(
                f"pool {spec.cluster}/{spec.name} is being deleted", hint="wait until it is gone, then create it anew"
            )

    def _change(self, patch: PoolPatch) -> ChangeResult:
        state, now = self.state, workflow.now()
        before = state.spec
        state.spec = patched(before, patch)
        changed = differences(before, state.spec)
        if before.paused != state.spec.paused:
            changed.append("paused" if state.spec.paused else "resumed")
            state.note(now, Reason.POOL_PAUSED if state.spec.paused else Reason.POOL_RESUMED)
        if changed:
            state.backoff = None
            state.note(now, Reason.POOL_UPDATED, "; ".join(changed))
        if (before.labels, before.taints) != (state.spec.labels, state.spec.taints):
            for machine in state.machines.values():
                machine.in_step = False
            self._watch.renew()
        state.target = state.spec.within_bounds(state.target)
        self._wake()
        return ChangeResult(changed=changed, removing=max(0, self._staying() - state.target))

    def _scale(self, request: ScaleRequest) -> ChangeResult:
        state = self.state
        check_size(state.spec, request.size)
        before, state.target = state.target, request.size
        if before != request.size:
            why = f": {request.reason}" if request.reason else ""
            state.note(workflow.now(), Reason.SCALED, f"from {before} to {request.size}{why}")
        self._wake()
        changed = [f"size: {before} -> {request.size}"] if before != request.size else []
        return ChangeResult(changed=changed, removing=max(0, self._staying() - request.size))

    def _delete(self) -> ChangeResult:
        state = self.state
        removing = self._staying()
        if not state.deleting:
            state.deleting = True
            state.note(workflow.now(), Reason.POOL_DELETING, f"{removing} machines to remove")
        self._wake()
        return ChangeResult(changed=["deleting"], removing=removing)

    def _staying(self) -> int:
        return sum(not machine.leaving for machine in self.state.machines.values())

    async def _preview(self, request: PreviewRequest) -> Impact:
        state = self.state
        ceiling = state.target if request.max is None else request.max
        going = would_remove(state.situation, 0 if request.delete else min(state.target, ceiling))
        nodes = [machine.name for machine in going if machine.phase not in BEFORE_READY]
        return Impact(servers=len(going), pods=await self._errands.count_pods(nodes))
