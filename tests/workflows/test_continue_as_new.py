"""Long lives: entities continue as new without losing a machine, an answer, or a child that is under way."""

from __future__ import annotations

import asyncio

from temporalio.client import Client

from core.spec import PoolPatch
from tests.workflows.conftest import stage
from tests.workflows.test_pool import ready, reasons, until, view
from workflows.messages import ChangeResult, ScaleRequest


async def test_children_outlive_the_runs_of_their_pool(temporal: Client) -> None:
    async with stage(temporal, history_limit=30) as on:
        on.world.join.clear()
        pool = await on.create(min=0, max=4)
        first = (await pool.describe()).run_id
        await on.ask(pool, "scale", ScaleRequest(size=2), ChangeResult)
        for number in range(12):
            await on.ask(pool, "update", PoolPatch(labels={"n": str(number)}), ChangeResult)
        assert (await pool.describe()).run_id != first, "the pool has continued as new while its machines boot"
        on.world.join.set()
        seen = await until(pool, ready(2))
        assert len(on.world.created) == 2
        assert reasons(seen).count("PoolCreated") == 1
        await until(pool, lambda seen: all(on.world.labels[m.name] == {"n": "11"} for m in seen.machines))


async def test_updates_around_continue_as_new_are_answered_and_act_once(temporal: Client) -> None:
    async with stage(temporal, history_limit=20) as on:
        pool = await on.create(min=0, max=100)
        slots = asyncio.Semaphore(5)  # Temporal takes ten at once per workflow

        async def label(number: int) -> list[str]:
            async with slots:
                patch = PoolPatch(labels={f"n{number}": "x"})
                result: ChangeResult = await on.ask(pool, "update", patch, ChangeResult, id=f"u{number}")
                return result.changed

        answers = await asyncio.gather(*map(label, range(40)))
        assert all(len(answer) == 1 for answer in answers)
        seen = await view(pool)
        assert len(seen.spec.labels) == 40
        assert await label(39) == answers[39], "the answer to an update is remembered in a later run"


async def test_the_organization_continues_with_all_it_holds(temporal: Client) -> None:
    async with stage(temporal, history_limit=40) as on:
        first = (await on.org.describe()).run_id
        for number in range(4):
            pool = await on.create(name=f"w{number}", min=0, max=1)
            await until(pool, ready(0))
        for _ in range(10):
            await on.org.execute_update("set_surface", {"enabled": True})
        assert (await on.org.describe()).run_id != first
        shown = await on.org.query("show")
        assert (shown["pools"], shown["clusters"], shown["credentials"]) == (4, 1, 1)
