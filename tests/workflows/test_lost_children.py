"""A child that ended without a report is found, and what it left is cleaned up. Ten minutes pass in a moment."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import TimeSkippingConfig, WorkflowEnvironment

from tests.workflows.conftest import TEMPORAL, stage
from tests.workflows.test_pool import ready, reasons, until
from worker.attributes import register_search_attributes
from workflows.pool import LOOK_AGAIN


@pytest.fixture
async def skipping() -> AsyncIterator[WorkflowEnvironment]:
    """A server whose workflows' clocks can be moved."""
    async with await WorkflowEnvironment.start_time_skipping_v2(
        ts_config=TimeSkippingConfig(enabled=False),
        data_converter=pydantic_data_converter,
        dev_server_existing_path=str(TEMPORAL),
        dev_server_extra_args=["--dynamic-config-value", "frontend.WorkflowTimeSkippingEnabled=true"],
    ) as environment:
        await register_search_attributes(environment.client)
        yield environment


async def test_a_terminated_provision_is_cleaned_up_and_made_anew(skipping: WorkflowEnvironment) -> None:
    async with stage(skipping.client) as on:
        on.world.join.clear()
        pool = await on.create(min=1, max=1)
        seen = await until(pool, lambda seen: any(m.phase == "Booting" for m in seen.machines))
        [lost], [child] = seen.machines, seen.operations.values()
        await skipping.client.get_workflow_handle(child).terminate("by an operator")
        on.world.join.set()
        assert await skipping.fast_forward(pool, LOOK_AGAIN)
        seen = await until(pool, ready(1))
        assert "OperationLost" in reasons(seen)
        assert seen.machines[0].name != lost.name
        assert list(on.world.servers.values()) == [seen.machines[0].name], "the lost machine's server is gone"
        assert on.world.tokens == set()
