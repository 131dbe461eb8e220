"""What the one-machine operations share: the gate before each mutation, reports to the pool, and removal."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeVar

from pydantic import BaseModel
from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

from core import machine_calls
from core.calls import Call, ClusterRef, Owner, ProjectRef, ServerType
from core.events import Reason
from core.spec import PoolSpec
from workflows.calling import drop, failure_of, run, start
from workflows.messages import MachineReport

Given = TypeVar("Given", bound=BaseModel)
Answer = TypeVar("Answer", bound=BaseModel)

# A protected server, or a dead token, needs a person: look again now and then, and at once when the hold is lifted.
BLOCKED_PAUSE = timedelta(minutes=10)


class OperationInput(BaseModel):
    """One operation on one machine of one pool."""

    pool_workflow: str
    spec: PoolSpec
    server: ServerType | None = None
    pool_id: str
    cluster_id: str
    machine: str
    operation_id: str
    server_id: int | None = None
    node_uid: str | None = None
    ssh_key_id: int | None = None
    hold: bool = False
    unneeded: str = ""  # the autoscaler's reason to remove it; such a removal is given up where it meets resistance
    empty: bool = False


class Aborted(Exception):
    """The pool no longer wants what the operation does."""


class Operation:
    """Base of the child workflows: their pool holds, frees or aborts them by signal."""

    kind = ""

    def __init__(self, given: OperationInput) -> None:
        self.given = given
        self.project = ProjectRef(organization=given.spec.organization, credential=given.spec.credential)
        self.cluster = ClusterRef(organization=given.spec.organization, cluster=given.spec.cluster)
        self.owner = Owner(
            organization=given.spec.organization,
            cluster_id=given.cluster_id,
            pool_id=given.pool_id,
            operation_id=given.operation_id,
        )
        self.server_id = given.server_id
        self.node_uid = given.node_uid
        self.held = given.hold
        self.aborted = False
        self._nudges = 0

    def set_hold(self, held: bool) -> None:
        """Hold before the next mutation, or go on."""
        self.held = held
        self._nudges += 1

    async def gate(self) -> None:
        """Pass when a mutation may start. Raises Aborted when the operation is no longer wanted."""
        await workflow.wait_condition(lambda: not self.held or self.aborted)
        if self.aborted:
            raise Aborted

    async def wait(
        self, call: Call[Given, Answer], argument: Given, *, summary: str, patience: timedelta | None = None
    ) -> Answer:
        """Run a call that only waits; an abort ends the waiting. Raises Aborted, ActivityError."""
        handle = start(call, argument, summary=summary, patience=patience)
        await workflow.wait_condition(lambda: handle.done() or self.aborted)
        if not handle.done():
            drop(handle)
            raise Aborted
        return await handle

    async def report(self, reason: Reason, message: str = "", **more: object) -> None:
        """Tell the pool's workflow where the machine stands. A pool that has ended hears nothing; that is no error."""
        report = MachineReport(
            machine=self.given.machine,
            operation=self.kind,
            reason=reason,
            message=message,
            **more,
        )
        handle = workflow.get_external_workflow_handle(self.given.pool_workflow)
        try:
            await handle.signal("machine_report", report)
        except ApplicationError as error:
            workflow.logger.warning("the pool did not hear %s: %s", reason, error)

    async def remove(self) -> None:
        """Remove the machine from the cloud and the cluster. Ends only when all of it is seen gone."""
        gone = await self._delete_server()
        if gone is not None:
            self.server_id = gone.server_id
            seen = await run(
                machine_calls.AWAIT_SERVER_GONE,
                machine_calls.AwaitServerGone(project=self.project, server_id=gone.server_id or 0),
                summary=f"wait until server {gone.server_id} answers 404",
            )
            await self.report(
                Reason.SERVER_DELETED, f"server {gone.server_id}", server_id=gone.server_id, seen_at=seen.seen_at
            )
        await self._clean_cluster()

    async def _delete_server(self) -> machine_calls.DeleteSent | None:
        """The accepted delete, or None where no server of ours exists. Goes on while a person must act."""
        argument = machine_calls.DeleteServer(
            project=self.project, owner=self.owner, machine=self.given.machine, server_id=self.server_id
        )
        what = f"server {self.server_id}" if self.server_id else f"any server named {self.given.machine}"
        while True:
            await workflow.wait_condition(lambda: not self.held)
            try:
                sent = await run(machine_calls.DELETE_SERVER, argument, summary=f"delete {what}")
                return sent if sent.server_id is not None else None
            except ActivityError as error:
                failure = failure_of(error)
                await self.report(Reason.RETIRE_FAILED, str(failure), failure=failure)
                await self.pause()

    async def pause(self) -> None:
        """Wait for a nudge from the pool, or for the time after which a blocked step is tried again."""
        seen = self._nudges
        try:
            await workflow.wait_condition(lambda: self._nudges != seen, timeout=BLOCKED_PAUSE)
        except TimeoutError:
            return

    async def _clean_cluster(self) -> None:
        reaped = await run(
            machine_calls.REAP_NODE,
            machine_calls.ReapNode(
                cluster=self.cluster, machine=self.given.machine, server_id=self.server_id, node_uid=self.node_uid
            ),
            summary=f"remove Node {self.given.machine}",
        )
        if reaped.removed:
            await self.report(Reason.NODE_REAPED, f"Node {self.given.machine}")
        await self.revoke_token()

    async def revoke_token(self) -> None:
        """Delete the machine's bootstrap token."""
        await run(
            machine_calls.REVOKE_TOKEN,
            machine_calls.RevokeToken(cluster=self.cluster, operation_id=self.given.operation_id),
            summary="delete the bootstrap token",
        )
