"""One command's conversation with the workflows: updates, signals, queries, and the rows kept in their memos."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar
from uuid import uuid4

from pydantic import BaseModel
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
    WorkflowUpdateStage,
)
from temporalio.common import TypedSearchAttributes, WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from core.errors import ErrorBody, PoolsError, from_body
from starter.connection import NoWorker, pollers
from starter.targets import Target, organization
from workflows.messages import MEMO_ROW, TASK_QUEUE

Row = TypeVar("Row", bound=BaseModel)
Answer = TypeVar("Answer")

RPC = timedelta(seconds=10)
ANSWER_S = 180.0  # the longest update probes a cloud and a cluster before it answers
RETRY_S = 20.0
WORKER_S = 5.0  # a worker that has just started is not listed at once
# FAILED_PRECONDITION is what an update meets while its workflow continues as new.
_AGAIN = (RPCStatusCode.RESOURCE_EXHAUSTED, RPCStatusCode.UNAVAILABLE, RPCStatusCode.FAILED_PRECONDITION)
_SILENT = (RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED, RPCStatusCode.FAILED_PRECONDITION)


class NoAnswer(PoolsError):
    """A worker runs and did not answer in time; the request may still be carried out."""

    code = "NoAnswer"


class Session:
    """Speaks to the workflows of one organization. Every failure is raised as one of the domain's errors."""

    def __init__(self, client: Client, organization: str) -> None:
        self.client = client
        self.organization = organization

    async def start(
        self, target: Target, workflow: str, argument: BaseModel, attributes: TypedSearchAttributes
    ) -> bool:
        """Start a workflow unless it runs; whether it was started."""

        async def begin() -> bool:
            try:
                await self.client.start_workflow(
                    workflow,
                    argument,
                    id=target.workflow_id,
                    task_queue=TASK_QUEUE,
                    id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                    search_attributes=attributes,
                    static_summary=target.words,
                    rpc_timeout=RPC,
                )
            except WorkflowAlreadyStartedError:
                return False
            return True

        return await self._call(target, begin)

    async def update(self, target: Target, name: str, argument: BaseModel, gives: type[Row]) -> Row:
        """Send an update and wait for its answer. An attempt that is lost is sent again under the same id.

        Without a worker nothing is sent: the server would keep the update and carry it out whenever one comes.
        """
        update_id = uuid4().hex
        workflow = self.client.get_workflow_handle(target.workflow_id)

        async def send() -> Row:
            await self.expect_worker()
            handle = await workflow.start_update(
                name,
                argument,
                id=update_id,
                result_type=gives,
                wait_for_stage=WorkflowUpdateStage.ACCEPTED,
                rpc_timeout=RPC,
            )
            async with asyncio.timeout(ANSWER_S):
                answer: Row = await handle.result()
            return answer

        return await self._call(target, send)

    async def signal(self, target: Target, name: str, argument: BaseModel) -> None:
        """Send a signal: it is kept until a worker takes it, and nobody answers."""
        workflow = self.client.get_workflow_handle(target.workflow_id)
        await self._call(target, lambda: workflow.signal(name, argument, rpc_timeout=RPC))

    async def query(self, target: Target, name: str, gives: type[Answer], argument: BaseModel | None = None) -> Answer:
        """Ask a workflow. `gives` is the answer's type."""
        workflow = self.client.get_workflow_handle(target.workflow_id)
        arguments = [] if argument is None else [argument]

        async def ask() -> Answer:
            await self.expect_worker()
            answer: Answer = await workflow.query(name, args=arguments, result_type=gives, rpc_timeout=RPC)
            return answer

        return await self._call(target, ask)

    async def describe(self, target: Target) -> WorkflowExecutionDescription:
        """Temporal's own description of a workflow, running or ended; needs no worker. Raises NotFound."""
        workflow = self.client.get_workflow_handle(target.workflow_id)
        return await self._call(target, lambda: workflow.describe(rpc_timeout=RPC))

    async def runs(self, target: Target) -> bool:
        """Whether a workflow that was started has not ended. Raises NotFound where none was started."""
        return (await self.describe(target)).status is WorkflowExecutionStatus.RUNNING

    async def row(self, target: Target, kind: type[Row]) -> Row:
        """The row that a running workflow keeps in its memo; needs no worker. Raises NotFound."""
        description = await self.describe(target)
        if description.status is not WorkflowExecutionStatus.RUNNING:
            raise target.missing()
        row: Row | None = await description.memo_value(MEMO_ROW, None, type_hint=kind)
        if row is None:  # started, and no worker has taken its first step
            raise await self._silence()
        return row

    async def rows(self, query: str, kind: type[Row]) -> list[Row]:
        """The memo rows of all workflows that a visibility query finds; those not yet written are left out."""

        async def read() -> list[Row]:
            found = [
                await workflow.memo_value(MEMO_ROW, None, type_hint=kind)
                async for workflow in self.client.list_workflows(query, rpc_timeout=RPC)
            ]
            return [row for row in found if row is not None]

        return await self._call(organization(self.organization), read)

    async def expect_worker(self) -> None:
        """Raise NoWorker where nobody would take the work: Temporal itself would let the caller wait."""
        deadline = time.monotonic() + WORKER_S
        while not await pollers(self.client, TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW):
            if time.monotonic() > deadline:
                raise NoWorker(
                    f"no worker runs on task queue {TASK_QUEUE!r}: nothing can answer",
                    hint="start one: lbr worker; `lbr doctor` checks the rest",
                )
            await asyncio.sleep(0.2)

    async def _call(self, target: Target, attempt: Callable[[], Awaitable[Answer]]) -> Answer:
        deadline = time.monotonic() + RETRY_S
        while True:
            try:
                return await attempt()
            except RPCError as error:
                if not _may_pass(error) or time.monotonic() > deadline:
                    raise await self._meaning(target, error) from error
                await asyncio.sleep(0.5)
            except (WorkflowUpdateRPCTimeoutOrCancelledError, TimeoutError) as error:
                _stop_if_interrupted()
                raise await self._silence() from error
            except (WorkflowUpdateFailedError, WorkflowQueryFailedError) as error:
                raise _refusal(error) from error

    async def _meaning(self, target: Target, error: RPCError) -> PoolsError:
        if error.status is RPCStatusCode.NOT_FOUND and not error.message.startswith("Namespace"):
            return target.missing()
        if error.status in _SILENT:
            return await self._silence()
        return PoolsError(f"Temporal refused the call: {error.message}", hint="check the connection: lbr doctor")

    async def _silence(self) -> PoolsError:
        """Why there was no answer: nobody works, or the work takes longer than we wait."""
        try:
            await self.expect_worker()
        except NoWorker as error:
            return error
        return NoAnswer(
            "a worker runs, but the workflow did not answer in time; the request may still be carried out",
            hint="look again before you repeat it; `lbr doctor` finds workflows that are stuck",
        )


def _may_pass(error: RPCError) -> bool:
    """Whether the same call may succeed in a moment: search attributes are known seconds after they are registered."""
    return error.status in _AGAIN or "no mapping defined for search attribute" in error.message


def _stop_if_interrupted() -> None:
    """The SDK reports Ctrl-C in the middle of an update as a time-out; it is none."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _refusal(error: WorkflowUpdateFailedError | WorkflowQueryFailedError) -> PoolsError:
    cause: Any = error.cause
    if isinstance(cause, ApplicationError) and cause.details:
        return from_body(ErrorBody.model_validate(cause.details[0]))
    return PoolsError(f"the workflow could not answer: {cause or error}", hint="see what it says: lbr doctor")
