"""A pool's life on a real Temporal server, over a pretended world."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from temporalio.client import Client, WorkflowHandle, WorkflowUpdateFailedError

from core.calls import Health, ServerType
from core.cloud_errors import CloudClass
from core.machine_calls import Hold
from core.planner import CREATES_IN_FLIGHT
from core.spec import PoolPatch
from core.views import PoolView
from tests.workflows.conftest import SEALED, stage
from workflows.messages import (
    ChangeResult,
    CreateResult,
    Done,
    Impact,
    PauseRequest,
    PreviewRequest,
    ScaleRequest,
    StoreCredential,
)

Pool = WorkflowHandle[Any, Any]


async def view(pool: Pool) -> PoolView:
    return await pool.query("describe", result_type=PoolView)


async def until(pool: Pool, wanted: Callable[[PoolView], bool], seconds: float = 20) -> PoolView:
    """The pool's view once `wanted` holds; fails with the last view when it does not come about."""
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        seen = await view(pool)
        if wanted(seen):
            return seen
        assert asyncio.get_running_loop().time() < deadline, seen.model_dump_json(indent=1)
        await asyncio.sleep(0.05)


def ready(count: int) -> Callable[[PoolView], bool]:
    return lambda seen: seen.row.ready == count == seen.row.size and not seen.operations


def reasons(seen: PoolView) -> list[str]:
    return [event.reason for event in seen.events]


async def refused(asked: Awaitable[Any]) -> dict[str, Any]:
    with pytest.raises(WorkflowUpdateFailedError) as caught:
        await asked
    body: dict[str, Any] = caught.value.cause.details[0]  # type: ignore[union-attr]
    return body


async def test_comes_up_is_changed_and_leaves_nothing(temporal: Client) -> None:
    async with stage(temporal) as on:
        pool = await on.create(min=2, max=4, initial=3)
        seen = await until(pool, ready(3))
        assert seen.row.phase == "Ready"
        assert {machine.phase for machine in seen.machines} == {"Ready"}
        assert on.world.tokens == set(), "bootstrap tokens end with the join"
        assert set(on.world.sizes.values()) == {ServerType(name="cx23", cores=2, memory_gb=4, disk_gb=40)}
        result = await on.ask(pool, "update", PoolPatch(max=6, labels={"team": "a"}), ChangeResult)
        assert result.changed == ["max: 4 -> 6", "labels: none -> team=a"]
        await until(pool, lambda seen: all(on.world.labels[m.name] == {"team": "a"} for m in seen.machines))
        await on.ask(pool, "delete", Done(), ChangeResult)
        assert "nothing" in await pool.result()
        assert (on.world.servers, on.world.nodes, on.world.keys) == ({}, {}, set())
        rows = await on.org.query("show")
        assert rows["pools"] == 0


async def test_min_raised_is_met_without_pods_and_max_lowered_shrinks(temporal: Client) -> None:
    async with stage(temporal) as on:
        pool = await on.create(min=1, max=4)
        await until(pool, ready(1))
        await on.ask(pool, "update", PoolPatch(min=3), ChangeResult)
        await until(pool, ready(3))
        impact = await on.ask(pool, "preview", PreviewRequest(max=1), Impact)
        assert impact == Impact(servers=2, pods=8)
        await on.ask(pool, "update", PoolPatch(min=0, max=1), ChangeResult)
        seen = await until(pool, ready(1))
        assert on.world.drains, "nodes are drained before their servers go"
        assert len(on.world.servers) == 1
        assert "AboveSize" in reasons(seen)


async def test_scale_by_update_and_by_signal(temporal: Client) -> None:
    async with stage(temporal) as on:
        pool = await on.create(min=0, max=3)
        await until(pool, ready(0))
        assert (await on.ask(pool, "scale", ScaleRequest(size=2), ChangeResult)).changed == ["size: 0 -> 2"]
        await until(pool, ready(2))
        body = await refused(on.ask(pool, "scale", ScaleRequest(size=9), ChangeResult))
        assert (body["code"], body["field"]) == ("InvalidField", "size")
        await pool.signal("scale", {"size": 1, "reason": "by hand"})
        await until(pool, ready(1))
        await pool.signal("scale", {"sise": "many"})
        await pool.signal("scale", {"size": 99})
        await pool.signal("update", "nonsense")
        seen = await until(pool, lambda seen: reasons(seen).count("RequestRefused") == 3)
        assert seen.row.target == 1


async def test_pause_holds_everything_and_resume_goes_on(temporal: Client) -> None:
    async with stage(temporal) as on:
        on.world.join.clear()
        pool = await on.create(min=1, max=3)
        await until(pool, lambda seen: any(m.phase == "Booting" for m in seen.machines))
        await on.ask(pool, "pause", PauseRequest(), ChangeResult)
        await on.ask(pool, "update", PoolPatch(min=2), ChangeResult)
        on.world.join.set()
        seen = await until(pool, ready(1))
        assert (seen.row.phase, len(on.world.created)) == ("Paused", 1)
        assert "frozen" in seen.notes[0]
        await pool.signal("pause", {"paused": False})
        await until(pool, ready(2))


async def test_paused_pool_can_be_deleted(temporal: Client) -> None:
    async with stage(temporal) as on:
        pool = await on.create(min=1, max=1, paused=True)
        await on.ask(pool, "delete", Done(), ChangeResult)
        await pool.result()
        assert on.world.created == []


async def test_paused_in_the_middle_of_a_drain_stops_and_goes_on(temporal: Client) -> None:
    async with stage(temporal) as on:
        on.world.holds = [Hold(pod="default/db-0", budget="db", message="needs 2 healthy pods and has 2")]
        pool = await on.create(min=0, max=1, initial=1)
        await until(pool, ready(1))
        await on.ask(pool, "scale", ScaleRequest(size=0), ChangeResult)
        seen = await until(pool, lambda seen: "DrainWaiting" in reasons(seen))
        assert "DrainBlocked" in [c.type for c in seen.conditions if c.status]
        await on.ask(pool, "pause", PauseRequest(), ChangeResult)
        await until(pool, lambda seen: seen.row.phase == "Paused" and not on.world.draining)
        on.world.holds = []
        assert len(on.world.servers) == 1
        await on.ask(pool, "update", PoolPatch(max=2), ChangeResult)
        await on.ask(pool, "pause", PauseRequest(paused=False), ChangeResult)
        await until(pool, ready(0))
        assert on.world.servers == {}
        assert on.world.drains[-1][1] > on.world.drains[0][1], "the drain's time stood still while it was frozen"


async def test_stock_out_backs_off_and_says_so(temporal: Client) -> None:
    async with stage(temporal) as on:
        on.world.fail("create_server", CloudClass.STOCK, times=2, message="error during placement")
        pool = await on.create(min=2, max=2)
        seen = await until(pool, lambda seen: seen.backoff is not None and not seen.operations)
        assert "InstanceTypeUnavailable" in [c.type for c in seen.conditions if c.status]
        assert "error during placement" in seen.notes[0]
        assert on.world.tokens == set()
        await on.ask(pool, "update", PoolPatch(max=3), ChangeResult)  # a changed spec is a reason to try again
        await until(pool, ready(2))


async def test_lost_answers_and_busy_cloud_are_retried(temporal: Client) -> None:
    async with stage(temporal) as on:
        on.world.fail("create_server", CloudClass.UNKNOWN)
        on.world.fail("ensure_token", CloudClass.CLUSTER)
        pool = await on.create()
        await until(pool, ready(1))
        assert len(on.world.created) == 1


async def test_refused_token_freezes_and_rotate_thaws(temporal: Client) -> None:
    async with stage(temporal) as on:
        pool = await on.create()
        await until(pool, ready(1))
        on.world.fail("create_server", CloudClass.CREDENTIAL, message="the token is invalid")
        on.world.health = Health.INVALID
        await on.ask(pool, "update", PoolPatch(min=2), ChangeResult)
        seen = await until(pool, lambda seen: "CredentialInvalid" in [c.type for c in seen.conditions if c.status])
        assert seen.row.ready == 1
        body = await refused(on.org.execute_update("rotate_credential", StoreCredential(name="hetzner", sealed=SEALED)))
        assert body["code"] == "AuthRefused"
        on.world.health = Health.VALID
        await on.org.execute_update("rotate_credential", StoreCredential(name="hetzner", sealed=SEALED))
        await until(pool, ready(2))


async def test_create_twice_is_unchanged_or_a_conflict(temporal: Client) -> None:
    async with stage(temporal) as on:
        await on.create(max=3)
        again = await on.ask(on.org, "create_pool", on.spec(max=3), CreateResult)
        assert again.outcome == "unchanged"
        body = await refused(on.ask(on.org, "create_pool", on.spec(max=5, location="fsn1"), CreateResult))
        assert body["code"] == "Conflict"
        assert "location: hel1 -> fsn1 (fixed)" in body["message"]
        assert "max: 3 -> 5" in body["message"]


async def test_same_update_id_acts_once_across_runs(temporal: Client) -> None:
    async with stage(temporal) as on:
        pool = await on.create(min=0, max=3)
        await on.ask(pool, "scale", ScaleRequest(size=1), ChangeResult, id="once")
        await until(pool, ready(1))
        await on.ask(pool, "scale", ScaleRequest(size=0), ChangeResult)
        await until(pool, ready(0))
        assert (await on.ask(pool, "scale", ScaleRequest(size=1), ChangeResult, id="once")).changed == ["size: 0 -> 1"]
        assert (await view(pool)).row.target == 0


async def test_labels_changed_while_others_are_written_are_written_too(temporal: Client) -> None:
    async with stage(temporal) as on:
        pool = await on.create(min=1)
        await until(pool, ready(1))
        on.world.sync.clear()
        before = on.world.counts["sync_nodes"]
        await on.ask(pool, "update", PoolPatch(labels={"a": "1"}), ChangeResult)
        await until(pool, lambda seen: on.world.counts["sync_nodes"] > before)
        await on.ask(pool, "update", PoolPatch(labels={"a": "2"}), ChangeResult)
        await until(pool, lambda seen: seen.machines[0].digest == "fine-False")
        on.world.sync.set()
        await until(pool, lambda seen: all(on.world.labels[m.name] == {"a": "2"} for m in seen.machines))
        await until(pool, lambda seen: all(m.in_step for m in seen.machines) and not seen.next)


async def test_paused_between_two_steps_the_next_one_does_not_start(temporal: Client) -> None:
    async with stage(temporal) as on:
        on.world.token.clear()
        pool = await on.create(min=1)
        await until(pool, lambda seen: on.world.counts["ensure_token"] == 1)
        await on.ask(pool, "pause", PauseRequest(), ChangeResult)
        on.world.token.set()
        await until(pool, lambda seen: seen.row.phase == "Paused" and bool(on.world.tokens))
        await on.ask(pool, "update", PoolPatch(max=4), ChangeResult)  # a whole round trip later it still holds
        assert on.world.created == []
        await on.ask(pool, "pause", PauseRequest(paused=False), ChangeResult)
        await until(pool, ready(1))


async def test_a_size_that_is_taken_back_stops_the_steps_that_are_left(temporal: Client) -> None:
    async with stage(temporal) as on:
        pool = await on.create(min=0, max=4 * CREATES_IN_FLIGHT)
        await until(pool, ready(0))
        await on.ask(pool, "scale", ScaleRequest(size=4 * CREATES_IN_FLIGHT), ChangeResult)
        await on.ask(pool, "scale", ScaleRequest(size=1), ChangeResult)
        seen = await until(pool, ready(1))
        begun = sum(event.count for event in seen.events if event.reason == "BelowSize")
        assert 1 <= begun < 4 * CREATES_IN_FLIGHT, "a few are begun at a time, and a request comes between two times"
