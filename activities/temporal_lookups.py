"""What a workflow asks about other workflows: a pool's spec, and which operations have ended."""

from __future__ import annotations

from datetime import timedelta

from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from core import calls
from core.views import PoolView

RPC_TIMEOUT = timedelta(seconds=10)


class TemporalLookups:
    """Activities over the Temporal client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @activity.defn(name=calls.READ_POOL.name)
    async def read_pool(self, call: calls.ReadPool) -> calls.PoolLookup:
        """A running pool's spec, or none."""
        if not await self._running(call.workflow_id):
            return calls.PoolLookup(spec=None)
        handle = self._client.get_workflow_handle(call.workflow_id)
        view: PoolView = await handle.query("describe", result_type=PoolView, rpc_timeout=RPC_TIMEOUT)
        return calls.PoolLookup(spec=view.spec, deleting=view.row.phase == "Deleting")

    @activity.defn(name=calls.FIND_ENDED.name)
    async def find_ended(self, call: calls.FindEnded) -> calls.Ended:
        """Those of the given workflows that are not running."""
        return calls.Ended(workflow_ids=[each for each in call.workflow_ids if not await self._running(each)])

    async def _running(self, workflow_id: str) -> bool:
        try:
            description = await self._client.get_workflow_handle(workflow_id).describe(rpc_timeout=RPC_TIMEOUT)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return False
            raise
        return description.status is WorkflowExecutionStatus.RUNNING
