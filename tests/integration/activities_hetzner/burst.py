"""Many machines of one pool at once, from their key to running servers and back to nothing, as one worker does it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import BaseModel
from temporalio.testing import ActivityEnvironment

from activities.keys import KeyActivities
from activities.servers import ServerActivities
from core import calls, machine_calls
from sandbox.hetzner.records import Limits
from tests.integration.activities_hetzner.call_count import CallCount
from tests.integration.activities_hetzner.cloud_stage import OWNER, PROJECT, CloudStage
from tests.integration.activities_hetzner.orders import POOL_OWNER, await_call, create_call, delete_call

Given = TypeVar("Given", bound=BaseModel)
Answer = TypeVar("Answer", bound=BaseModel)

KEY = calls.EnsureKey(project=PROJECT, owner=POOL_OWNER, name="prod-workers-key")


class Burst:
    """`machines` servers, brought up and taken down all at the same time. `poll_s` as the worker's setting."""

    def __init__(self, stage: CloudStage, machines: int, poll_s: float) -> None:
        self._stage = stage
        self._servers = ServerActivities(stage.cloud, stage.vault, stage.user_data_for, poll_s=poll_s)
        self._keys = KeyActivities(stage.cloud, stage.vault)
        self._names = [f"prod-workers-{number}" for number in range(machines)]
        room = Limits(servers=machines, primary_ips=2 * machines, requests_per_hour=3600)
        stage.live.call(lambda cloud: cloud.set_limits(cloud.project("demo"), room))

    async def up(self) -> tuple[list[machine_calls.ServerSeen], CallCount]:
        """Create them and see them run. The pool is a new one: each machine asks for its key."""
        self._clear()

        async def one(name: str) -> machine_calls.ServerSeen:
            key_id = (await _run(self._keys.ensure_key, KEY)).key_id
            owner = OWNER.model_copy(update={"operation_id": f"op-{name}"})
            call = await create_call(self._stage, machine=name, owner=owner, ssh_key_id=key_id)
            made = await _run(self._servers.create_server, call)
            await _run(self._servers.await_server, await_call(made))
            return made

        made = await asyncio.gather(*map(one, self._names))
        return made, self._count()

    async def down(self, made: list[machine_calls.ServerSeen]) -> CallCount:
        """Delete them and see them gone."""
        self._clear()

        async def one(name: str, server: machine_calls.ServerSeen) -> None:
            owner = OWNER.model_copy(update={"operation_id": f"op-{name}"})
            await _run(self._servers.delete_server, delete_call(server.server_id, machine=name, owner=owner))
            gone = machine_calls.AwaitServerGone(project=PROJECT, server_id=server.server_id)
            await _run(self._servers.await_server_gone, gone)

        await asyncio.gather(*map(one, self._names, made))
        return self._count()

    def _clear(self) -> None:
        self._stage.live.call(lambda cloud: cloud.log.clear())

    def _count(self) -> CallCount:
        entries = self._stage.live.call(lambda cloud: list(cloud.log.select()))
        return CallCount.of(entries, len(self._names))


async def _run(activity: Callable[[Given], Awaitable[Answer]], call: Given) -> Answer:
    return await ActivityEnvironment().run(activity, call)
