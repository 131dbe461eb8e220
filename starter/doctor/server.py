"""Checks of Temporal itself: the namespace, the workers, the search attributes, and workflows that are stuck."""

from __future__ import annotations

from collections.abc import AsyncIterator

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from starter.connection import pollers
from starter.doctor.findings import Finding, fail, ok
from starter.session import RPC
from workflows.messages import TASK_QUEUE
from workflows.search_attributes import ALL

_STUCK = "TemporalReportedProblems IS NOT NULL AND ExecutionStatus = 'Running'"
_STUCK_SHOWN = 5


async def check_server(client: Client) -> AsyncIterator[Finding]:
    """All checks of the server; without its namespace the others mean nothing."""
    namespace = await _namespace(client)
    yield namespace
    if not namespace.hint:
        yield await _workers(client)
        yield await _search_attributes(client)
        yield await _stuck(client)


async def _namespace(client: Client) -> Finding:
    try:
        request = DescribeNamespaceRequest(namespace=client.namespace)
        await client.workflow_service.describe_namespace(request, timeout=RPC)
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            hint = f"create it: temporal operator namespace create -n {client.namespace}"
            return fail("namespace", f"{client.namespace!r} does not exist", hint)
        return fail("namespace", f"{client.namespace!r}: {error.message}", "check the address and the rights")
    return ok("namespace", client.namespace)


async def _workers(client: Client) -> Finding:
    for_workflows = await pollers(client, TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW)
    for_activities = await pollers(client, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY)
    if not for_workflows or not for_activities:
        missing = "workflows" if not for_workflows else "activities"
        return fail("workers", f"nobody polls task queue {TASK_QUEUE!r} for {missing}", "start one: lbr worker")
    count = len(set(for_workflows))
    return ok("workers", f"{count} on task queue {TASK_QUEUE!r}")


async def _search_attributes(client: Client) -> Finding:
    request = ListSearchAttributesRequest(namespace=client.namespace)
    answer = await client.operator_service.list_search_attributes(request, timeout=RPC)
    missing = [key.name for key in ALL if key.name not in answer.custom_attributes]
    if missing:
        hint = "a worker registers them when it starts: lbr worker"
        return fail("search attributes", f"not registered: {', '.join(missing)}", hint)
    return ok("search attributes", f"{len(ALL)} registered")


async def _stuck(client: Client) -> Finding:
    stuck = [workflow.id async for workflow in client.list_workflows(_STUCK, limit=_STUCK_SHOWN, rpc_timeout=RPC)]
    if stuck:
        hint = f"read why: temporal workflow show -w {stuck[0]}; a corrected worker resumes them"
        return fail("workflow tasks", f"keep failing in {', '.join(stuck)}", hint)
    return ok("workflow tasks", "none keeps failing")
