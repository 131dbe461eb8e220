"""A real Temporal server for the workflow tests, and a worker whose activities are a small pretended world."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from temporalio.client import Client, WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from core.calls import JoinMethod
from core.names import organization_workflow_id
from core.sealing import SealedSecret
from core.spec import PoolSpec
from tests.workflows.pretended import PretendedWorld
from worker.attributes import register_search_attributes
from worker.runner import workflow_runner
from workflows.cluster import ClusterWorkflow
from workflows.messages import TASK_QUEUE, CreateResult, OrganizationStart, RegisterCluster, StoreCredential
from workflows.organization import OrganizationWorkflow
from workflows.pool import PoolWorkflow
from workflows.provision import ProvisionMachine
from workflows.retire import RetireMachine

SEALED = SealedSecret(key_id="test", version="1", ciphertext="sealed")
TEMPORAL = Path(sys.executable).parent / "temporal"


@pytest.fixture(scope="session")
async def temporal() -> AsyncIterator[Client]:
    """A dev server with quick timers and our search attributes."""
    extra = ["--dynamic-config-value", 'history.timerProcessorMaxTimeShift="10ms"']
    async with await WorkflowEnvironment.start_local(
        data_converter=pydantic_data_converter,
        dev_server_existing_path=str(TEMPORAL),
        dev_server_extra_args=extra,
    ) as environment:
        await register_search_attributes(environment.client)
        yield environment.client


class Stage:
    """One organization with a credential and a cluster, served by a worker of its own over a pretended world."""

    def __init__(self, client: Client, world: PretendedWorld, organization: str) -> None:
        self.client, self.world, self.organization = client, world, organization

    @property
    def org(self) -> WorkflowHandle[Any, Any]:
        return self.client.get_workflow_handle(organization_workflow_id(self.organization))

    def spec(self, **changes: Any) -> PoolSpec:
        base = {
            "name": "workers",
            "credential": "hetzner",
            "location": "hel1",
            "server_type": "cx23",
            "min": 1,
            "max": 3,
        }
        return PoolSpec(organization=self.organization, cluster="prod", **(base | changes))

    async def ask(self, handle: WorkflowHandle[Any, Any], update: str, argument: Any, gives: Any, **more: Any) -> Any:
        """Send an update as clients do: again under the same id while the workflow continues as new."""
        update_id = more.pop("id", uuid4().hex)
        while True:
            try:
                return await handle.execute_update(update, argument, result_type=gives, id=update_id, **more)
            except RPCError as error:
                if error.status not in (RPCStatusCode.FAILED_PRECONDITION, RPCStatusCode.RESOURCE_EXHAUSTED):
                    raise
                await asyncio.sleep(0.1)

    async def create(self, **changes: Any) -> WorkflowHandle[Any, Any]:
        result = await self.ask(self.org, "create_pool", self.spec(**changes), CreateResult)
        return self.client.get_workflow_handle(result.workflow_id)


@asynccontextmanager
async def stage(client: Client, world: PretendedWorld | None = None, **start: Any) -> AsyncIterator[Stage]:
    """A furnished stage. Workflows of other tests do not reach it: it has a namespace of ids of its own."""
    world = world or PretendedWorld(client)
    organization = f"org-{uuid4().hex[:8]}"
    async with Worker(
        client,
        task_queue=TASK_QUEUE,
        workflows=[OrganizationWorkflow, ClusterWorkflow, PoolWorkflow, ProvisionMachine, RetireMachine],
        activities=world.activities(),
        workflow_runner=workflow_runner(),
        max_heartbeat_throttle_interval=timedelta(milliseconds=200),
    ):
        built = Stage(client, world, organization)
        await client.start_workflow(
            "OrganizationWorkflow",
            OrganizationStart(organization=organization, **start),
            id=organization_workflow_id(organization),
            task_queue=TASK_QUEUE,
        )
        await built.org.execute_update("create_credential", StoreCredential(name="hetzner", sealed=SEALED))
        await built.org.execute_update(
            "register_cluster", RegisterCluster(name="prod", sealed=SEALED, join=JoinMethod.K3S)
        )
        yield built
        await _end(built)


async def _end(built: Stage) -> None:
    """End what still runs, so that the next test's worker is not handed this one's tasks."""
    query = f'LbrOrganization = "{built.organization}" AND ExecutionStatus = "Running"'
    async for running in built.client.list_workflows(query):
        with contextlib.suppress(RPCError):  # it ended since it was listed
            await built.client.get_workflow_handle(running.id).terminate("the test is over")
    await built.org.terminate("the test is over")
