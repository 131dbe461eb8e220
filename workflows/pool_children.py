"""A pool's child workflows: started by id, left to outlive the pool's runs, held, aborted, and found when lost."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, WorkflowAlreadyStartedError

from core import calls
from core.events import Reason
from core.machine import Machine, Phase
from core.names import operation_workflow_id, pool_workflow_id
from core.planner import Action
from workflows.calling import run
from workflows.messages import PROVISION_WORKFLOW, RETIRE_WORKFLOW
from workflows.operation import OperationInput
from workflows.pool_state import OperationKind, PoolState, RunningOperation
from workflows.search_attributes import attributes

LOST_AFTER = timedelta(minutes=5)  # a child younger than this may simply not have reported yet


class Children:
    """The operations that a pool has under way."""

    def __init__(self, state: PoolState) -> None:
        self.state = state
        self._holding = asyncio.Lock()

    async def provision(self, action: Action) -> None:
        """Enter a machine into the table and start to bring it up."""
        machine = self.state.add(action, str(workflow.uuid4()), workflow.now())
        await self._start(OperationKind.PROVISION, machine, f"add {machine.name}")

    async def retire(self, action: Action) -> None:
        """Remove a machine: by ending its provisioning where that still runs, else by draining it."""
        machine, now = self.state.machines[action.machine], workflow.now()
        self.state.note(now, action.reason, action.message, machine.name)
        provisioning = self.state.operations.get(f"{OperationKind.PROVISION}/{machine.name}")
        if provisioning is not None:
            machine.enter(Phase.DELETING, now, action.reason, "no longer wanted")
            await self._signal(provisioning, "abort")
            return
        machine.enter(Phase.DRAINING, now, action.reason, action.message)
        await self._start(OperationKind.RETIRE, machine, f"remove {machine.name}")

    async def hold(self, held: bool) -> None:
        """Let every running operation stop before its next mutation, or go on. Returns when all of them were told."""
        async with self._holding:
            for _, operation in sorted(self.state.operations.items()):
                if operation.held != held:
                    operation.held = held
                    await self._signal(operation, "hold", held)

    async def insist(self) -> None:
        """Let removals that the autoscaler began go on to their end, whatever resists: the pool is being deleted."""
        for _, operation in sorted(self.state.operations.items()):
            machine = self.state.machines.get(operation.machine)
            if operation.kind is OperationKind.RETIRE and machine is not None and machine.unneeded:
                machine.unneeded = ""
                await self._signal(operation, "insist")

    async def find_lost(self) -> None:
        """Clean up after children that ended without a report, as when someone terminated them."""
        now = workflow.now()
        old = {
            operation.workflow_id: key
            for key, operation in sorted(self.state.operations.items())
            if now - operation.started_at > LOST_AFTER
        }
        if not old:
            return
        try:
            ended = await run(
                calls.FIND_ENDED,
                calls.FindEnded(workflow_ids=sorted(old)),
                summary="which operations ended without a report?",
                patience=timedelta(minutes=1),
            )
        except ActivityError as error:
            workflow.logger.warning("could not look for lost operations: %s", error)
            return
        for workflow_id in ended.workflow_ids:
            await self._lost(old[workflow_id])

    async def _lost(self, key: str) -> None:
        operation = self.state.operations.pop(key, None)
        machine = self.state.machines.get(operation.machine) if operation else None
        if operation is None or machine is None:
            return
        now = workflow.now()
        self.state.note(now, Reason.OPERATION_LOST, f"{operation.kind} ended without a report", machine.name)
        machine.enter(Phase.DRAINING, now, Reason.OPERATION_LOST, "cleaning up")
        await self._start(OperationKind.RETIRE, machine, f"clean up {machine.name}")

    async def _start(self, kind: OperationKind, machine: Machine, summary: str) -> None:
        state, spec = self.state, self.state.spec
        pool = pool_workflow_id(spec.organization, spec.cluster, spec.name)
        given = OperationInput(
            pool_workflow=pool,
            spec=spec,
            server=state.server,
            pool_id=state.pool_id,
            cluster_id=state.cluster_id,
            machine=machine.name,
            operation_id=machine.operation_id,
            server_id=machine.server_id,
            node_uid=machine.node_uid,
            ssh_key_id=state.ssh_key_id,
            hold=state.freeze is not None,
            unneeded=machine.unneeded,
            empty=machine.empty,
        )
        workflow_id = operation_workflow_id(pool, kind, machine.name)
        state.operations[f"{kind}/{machine.name}"] = RunningOperation(
            kind=kind, machine=machine.name, workflow_id=workflow_id, started_at=workflow.now(), held=given.hold
        )
        group = workflow.create_event_group(machine.name, label=f"machine {machine.name}")
        try:
            with group.scope():
                await workflow.start_child_workflow(
                    PROVISION_WORKFLOW if kind is OperationKind.PROVISION else RETIRE_WORKFLOW,
                    given,
                    id=workflow_id,
                    parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                    search_attributes=attributes(spec.organization, spec.cluster, spec.name),
                    static_summary=summary,
                )
        except WorkflowAlreadyStartedError:
            workflow.logger.info("%s runs already", workflow_id)

    async def _signal(self, operation: RunningOperation, name: str, *arguments: bool) -> None:
        handle = workflow.get_external_workflow_handle(operation.workflow_id)
        try:
            await handle.signal(name, *arguments)
        except ApplicationError as error:
            workflow.logger.warning("%s did not hear %s: %s", operation.workflow_id, name, error)
