"""Autoscaling between a cluster's workflow and its pools', on a real Temporal server over a pretended world."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.client import Client, WorkflowHandle

from core.autoscale_calls import Autoscale, Decided, ExplainObject, Explanation, Growth, Removal, Standing
from core.cloud_errors import CloudClass
from core.machine_calls import Hold
from core.names import cluster_workflow_id
from core.spec import PoolPatch
from tests.workflows.conftest import Stage, stage
from tests.workflows.test_pool import ready, reasons, refused, until, view
from workflows import retire
from workflows.messages import ChangeResult, Done, PauseRequest
from workflows.search_attributes import attributes

MEMORY = {"cx23": {"allocatable": {"cpu": 1900}}}


def grow(pool: str, size: int, count: int) -> Decided:
    return Decided(growth=[Growth(pool=pool, size=size, count=count, message=f"{count} for 3 pods")])


def removal(*nodes: str, pool: str = "workers", empty: bool = True) -> Decided:
    return Decided(removals=[Removal(pool=pool, node=node, empty=empty, message="nothing must move") for node in nodes])


async def asked(on: Stage, wanted: Callable[[Autoscale], bool]) -> Autoscale:
    """The newest question to the autoscaler, once `wanted` holds of it."""
    deadline = asyncio.get_running_loop().time() + 20
    while not (on.world.asked and wanted(on.world.asked[-1])):
        assert asyncio.get_running_loop().time() < deadline, on.world.asked[-1:]
        await asyncio.sleep(0.02)
    return on.world.asked[-1]


def standing(wanted: Callable[[Standing], object], pool: str = "workers") -> Callable[[Autoscale], bool]:
    """Whether a pool is known, and as wanted."""
    return lambda call: any(bool(wanted(known)) for known in call.standings if known.spec.name == pool)


def cluster(on: Stage) -> WorkflowHandle[Any, Any]:
    return on.client.get_workflow_handle(cluster_workflow_id(on.organization, "prod"))


async def test_a_decision_makes_a_pool_grow_and_says_why(temporal: Client) -> None:
    async with stage(temporal) as on:
        pool = await on.create(min=0, max=3)
        call = await asked(on, standing(lambda known: True))
        assert (call.standings[0].target, call.standings[0].server.name) == (0, "cx23")  # type: ignore[union-attr]
        on.world.decisions.append(grow("workers", 2, 2))
        seen = await until(pool, ready(2))
        assert [e.message for e in seen.events if e.reason == "Scaled"] == ["from 0 to 2: 2 for 3 pods"]
        after = await asked(on, standing(lambda known: known.target == 2))
        assert after.added is not None, "the delay after an addition runs from here"


async def test_one_decision_reaches_several_pools(temporal: Client) -> None:
    async with stage(temporal) as on:
        first, second = await on.create(min=0, max=3), await on.create(name="batch", min=0, max=3)
        await asked(on, lambda call: len(call.standings) == 2)
        both = Decided(growth=[*grow("workers", 1, 1).growth, *grow("batch", 2, 2).growth])
        on.world.decisions.append(both)
        await until(first, ready(1))
        await until(second, ready(2))


async def test_bounds_are_the_pools_whatever_is_decided(temporal: Client) -> None:
    async with stage(temporal) as on:
        pool = await on.create(min=1, max=2)
        await until(pool, ready(1))
        on.world.decisions.append(grow("workers", 9, 8))
        seen = await until(pool, ready(2))
        await asked(on, standing(lambda known: known.heard == 1))
        on.world.decisions.append(removal(*(machine.name for machine in seen.machines)))
        seen = await until(pool, ready(1))
        await asked(on, standing(lambda known: known.removed_at is not None))
        assert seen.row.target == 1
        on.world.decisions.append(removal(seen.machines[0].name))
        await asked(on, standing(lambda known: known.heard == 3))
        assert (await view(pool)).row.ready == 1, "min is kept"


async def test_an_unneeded_machine_goes_and_no_other(temporal: Client) -> None:
    async with stage(temporal) as on:
        pool = await on.create(min=1, max=3, initial=3)
        seen = await until(pool, ready(3))
        oldest = seen.machines[0].name
        on.world.decisions.append(removal(oldest))
        seen = await until(pool, ready(2))
        assert oldest not in [machine.name for machine in seen.machines]
        assert on.world.cordoned == {oldest: True}, "its node is tainted as well as cordoned"
        assert "ScaleDown" in reasons(seen)
        call = await asked(on, standing(lambda known: known.removed_at is not None))
        assert call.standings[0].target == 2


@pytest.mark.parametrize("resistance", ["a pod landed", "the cluster does not answer"])
async def test_a_node_that_resists_stays_and_is_as_it_was(temporal: Client, resistance: str) -> None:
    async with stage(temporal) as on:
        pool = await on.create(min=0, max=2, initial=2)
        seen = await until(pool, ready(2))
        if resistance == "a pod landed":
            on.world.stays = "default/web landed on it"
        else:
            on.world.fail("recheck_node", CloudClass.INVALID, message=resistance)
        on.world.decisions.append(removal(seen.machines[0].name))
        await until(pool, lambda seen: "ScaleDownFailed" in reasons(seen))
        seen = await until(pool, ready(2))
        assert on.world.cordoned == {}, "the cordon is undone"
        assert seen.row.target == 2
        assert len(on.world.servers) == 2
        call = await asked(on, standing(lambda known: known.aborted_at is not None))
        assert call.standings[0].leaving == []


async def test_a_budget_that_holds_ends_a_scale_down_but_not_a_delete(temporal: Client) -> None:
    async with stage(temporal) as on:
        on.world.holds, on.world.impatient = [Hold(pod="default/db", budget="db", message="needs 1")], True
        pool = await on.create(min=0, max=2, initial=1)
        seen = await until(pool, ready(1))
        name = seen.machines[0].name
        on.world.decisions.append(removal(name, empty=False))
        seen = await until(pool, lambda seen: "ScaleDownFailed" in reasons(seen))
        patience = on.world.drains[-1][1] - datetime.now(UTC)
        assert timedelta(seconds=90) < patience <= retire.EVICTION_PATIENCE
        await until(pool, ready(1))
        assert on.world.cordoned == {}
        await asked(on, standing(lambda known: known.aborted_at is not None))
        on.world.impatient = False
        on.world.decisions.append(removal(name, empty=False))
        await until(pool, lambda seen: on.world.draining > 0 and len(on.world.drains) > 3)
        await on.ask(pool, "delete", Done(), ChangeResult)
        on.world.impatient = True
        await pool.result()
        assert on.world.servers == {}, "the budget still holds, and the delete goes on"


async def test_a_node_that_is_no_machine_of_the_pool_is_not_ordered_away_again_at_once(temporal: Client) -> None:
    async with stage(temporal) as on:
        pool = await on.create(min=0, max=2, initial=1)
        await until(pool, ready(1))
        on.world.decisions.append(removal("prod-workers-stray"))
        await asked(on, standing(lambda known: known.aborted_at is not None and known.heard == 1))
        seen = await view(pool)
        assert [(e.object, e.reason) for e in seen.events][-1] == ("prod-workers-stray", "ScaleDownFailed")
        assert (seen.row.target, seen.row.ready) == (1, 1)


async def test_a_paused_pool_does_not_obey_and_forgets(temporal: Client) -> None:
    async with stage(temporal) as on:
        pool = await on.create(min=0, max=3, initial=1)
        seen = await until(pool, ready(1))
        await on.ask(pool, "pause", PauseRequest(), ChangeResult)
        await asked(on, standing(lambda known: known.spec.paused))
        on.world.decisions.append(grow("workers", 3, 2))
        await asked(on, standing(lambda known: known.heard == 1))
        on.world.decisions.append(removal(seen.machines[0].name))
        await asked(on, standing(lambda known: known.heard == 2))
        await on.ask(pool, "pause", PauseRequest(paused=False), ChangeResult)
        seen = await until(pool, ready(1))
        assert not seen.next, "what was ordered during the pause is not made up for"
        assert seen.row.target == 1


async def test_a_pool_that_backs_off_says_so(temporal: Client) -> None:
    async with stage(temporal) as on:
        on.world.fail("create_server", CloudClass.STOCK, times=9)
        await on.create(min=0, max=3)
        await asked(on, standing(lambda known: True))
        on.world.decisions.append(grow("workers", 2, 2))
        call = await asked(on, standing(lambda known: known.backoff is not None))
        assert call.standings[0].missing == 2


async def test_what_is_decided_is_remembered_across_runs(temporal: Client) -> None:
    async with stage(temporal, history_limit=40) as on:
        await on.create(min=0, max=3)
        since = datetime(2026, 12, 1, 12, tzinfo=UTC)
        await asked(on, standing(lambda known: True))
        for number in range(8):
            decided = Decided(unneeded={"n": since + timedelta(minutes=number)}, measured=MEMORY)

            def remembered(call: Autoscale, decided: Decided = decided) -> bool:
                # One that a run took in while it ended is decided again by the next.
                on.world.decisions = on.world.decisions or [decided]
                return call.unneeded == decided.unneeded

            call = await asked(on, remembered)
        assert call.measured["cx23"].allocatable == {"cpu": 1900}
        runs = [each async for each in on.client.list_workflows(f'WorkflowId = "{cluster(on).id}"')]
        assert len(runs) > 1, "it continued as new on the way"


async def test_a_deleted_pool_is_forgotten(temporal: Client) -> None:
    async with stage(temporal) as on:
        pool = await on.create(min=0, max=3)
        await on.create(name="batch", min=0, max=3)
        await asked(on, lambda call: len(call.standings) == 2)
        await on.ask(pool, "delete", Done(), ChangeResult)
        await pool.result()
        await asked(on, lambda call: [known.spec.name for known in call.standings] == ["batch"])


async def test_a_cluster_that_knows_nothing_asks_its_pools(temporal: Client) -> None:
    async with stage(temporal) as on:
        await on.create(min=0, max=3)
        await asked(on, standing(lambda known: True))
        start = (await cluster(on).fetch_history()).events[0].workflow_execution_started_event_attributes
        state = on.client.data_converter.payload_converter.from_payloads(start.input.payloads)[0]
        on.world.asked.clear()
        await cluster(on).terminate("lost")
        await on.client.start_workflow(
            "ClusterWorkflow",
            state | {"pools": ["workers"]},
            id=cluster(on).id,
            task_queue="managed-node-pools",
            search_attributes=attributes(on.organization, "prod"),
        )
        await asked(on, standing(lambda known: True))


async def test_explain_answers_and_refuses_what_is_not_there(temporal: Client) -> None:
    async with stage(temporal) as on:
        pool = await on.create(min=1, max=3)
        seen = await until(pool, ready(1))
        name = seen.machines[0].name
        about = ExplainObject(kind="node", name=name)
        found = await on.ask(cluster(on), "explain", about, Explanation)
        assert [verdict.name for verdict in found.verdicts] == [name]
        body = await refused(cluster(on).execute_update("explain", ExplainObject(kind="node", name="nobody")))
        assert (body["code"], body["message"]) == ("NotFound", "cluster 'prod' has no node nobody")


async def test_a_changed_threshold_reaches_the_autoscaler(temporal: Client) -> None:
    async with stage(temporal) as on:
        pool = await on.create(min=0, max=3)
        await on.ask(pool, "update", PoolPatch(max=5, scale_down_threshold=0.7), ChangeResult)
        await asked(on, standing(lambda known: (known.spec.max, known.spec.scale_down_threshold) == (5, 0.7)))
