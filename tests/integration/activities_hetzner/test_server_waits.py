"""Seen running, seen gone: waits that ask little, beat, and believe only what proves something."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.servers import ServerActivities
from core import calls, machine_calls
from core.cloud_errors import CloudClass, CloudFailure
from tests.integration.activities_hetzner.cloud_stage import PROJECT, CloudStage, eventually
from tests.integration.activities_hetzner.orders import await_call, create_call, of


async def test_a_server_that_stays_off_or_whose_action_fails_ends_the_wait(stage: CloudStage) -> None:
    stage.fault(kind="action_error", command="start_server")
    made = await stage.run(of(stage).create_server, await create_call(stage))
    for action_ids in (made.action_ids, []):
        call = machine_calls.AwaitServer(project=PROJECT, server_id=made.server_id, action_ids=action_ids)
        failure, again = await stage.failure(of(stage).await_server, call)
        assert (failure.cls, again) == (CloudClass.UNKNOWN, False)
    assert stage.servers() == ["prod-workers-a"]


async def test_waiting_asks_for_all_actions_at_once(stage: CloudStage) -> None:
    made = await stage.run(of(stage).create_server, await create_call(stage))
    before = stage.requests("GET", "/actions")
    call = await_call(made)
    await stage.run(of(stage).await_server, call)
    assert 1 <= stage.requests("GET", "/actions") - before <= 8


async def several(stage: CloudStage, servers: ServerActivities, count: int) -> list[machine_calls.ServerSeen]:
    names = [f"prod-workers-{number}" for number in range(count)]
    return [await stage.run(servers.create_server, await create_call(stage, machine=name)) for name in names]


async def outcomes(servers: ServerActivities, made: list[machine_calls.ServerSeen]) -> list[str]:
    """How the waits for these servers end when they run at the same time: the failure's code, "" for success."""

    async def one(call: machine_calls.AwaitServer) -> str:
        try:
            await ActivityEnvironment().run(servers.await_server, call)
        except ApplicationError as error:
            return str(CloudFailure.model_validate(error.details[0]).code)
        return ""

    return await asyncio.gather(*(one(await_call(each)) for each in made))


async def test_servers_that_boot_together_share_every_look(stage: CloudStage) -> None:
    servers = of(stage)
    made = await several(stage, servers, 5)
    assert await outcomes(servers, made) == [""] * 5
    assert stage.requests("GET", "/servers/{id}") == 0
    assert stage.requests("GET", "/servers") <= 5


async def test_a_server_that_fails_ends_only_its_own_wait(stage: CloudStage) -> None:
    stage.fault(kind="action_error", command="start_server", name="prod-workers-1")
    servers = of(stage)
    assert await outcomes(servers, await several(stage, servers, 3)) == ["", "unknown_error", ""]


async def test_a_server_that_vanishes_ends_only_its_own_wait(stage: CloudStage) -> None:
    servers = of(stage)
    made = await several(stage, servers, 3)
    stage.live.call(lambda cloud: cloud.vanish(made[1].server_id))
    waits = await outcomes(servers, made)
    assert (waits[0], waits[1] != "", waits[2]) == ("", True, "")


async def test_servers_that_the_list_does_not_show_are_asked_for_by_id(stage: CloudStage) -> None:
    stage.fault(kind="stale_list", name="*", seconds=30)
    servers = of(stage)
    assert await outcomes(servers, await several(stage, servers, 2)) == ["", ""]
    assert stage.requests("GET", "/servers/{id}") >= 2


async def test_an_action_that_nobody_knows_is_not_waited_for(stage: CloudStage) -> None:
    made = await stage.run(of(stage).create_server, await create_call(stage))
    await stage.run(of(stage).await_server, await_call(made))
    unknown = await_call(made).model_copy(update={"action_ids": [*made.action_ids, 999]})
    assert await stage.run(of(stage).await_server, unknown) == calls.Nothing()


@pytest.mark.parametrize(
    "fault",
    [{"kind": "reset"}, {"kind": "html", "status": 502}, {"kind": "error", "code": "unauthorized", "status": 401}],
)
async def test_nothing_but_a_404_is_gone(stage: CloudStage, fault: dict[str, Any]) -> None:
    made = await stage.run(of(stage).create_server, await create_call(stage))
    stage.fault(method="GET", path="/servers/{id}", **fault)
    call = machine_calls.AwaitServerGone(project=PROJECT, server_id=made.server_id)
    failure, _ = await stage.failure(of(stage).await_server_gone, call)
    assert failure.cls is not CloudClass.GONE


async def test_a_worker_that_stops_hands_a_wait_over(stage: CloudStage) -> None:
    made = await stage.run(of(stage).create_server, await create_call(stage))
    stage.environment.worker_shutdown()
    call = machine_calls.AwaitServerGone(project=PROJECT, server_id=made.server_id)
    failure, again = await stage.failure(of(stage).await_server_gone, call)
    assert (failure.code, again) == ("worker_stops", True)


async def test_a_server_that_passes_through_off_is_waited_for(stage: CloudStage) -> None:
    made = await stage.run(of(stage).create_server, await create_call(stage))
    await stage.run(of(stage).await_server, await_call(made))
    _turn(stage, made.server_id, "off")
    unhurried = ServerActivities(stage.cloud, stage.vault, stage.user_data_for, poll_s=0.3)
    wait = asyncio.create_task(stage.run(unhurried.await_server, await_call(made)))
    looks = stage.requests("GET", "/servers/{id}")
    await eventually(lambda: stage.requests("GET", "/servers/{id}") > looks)
    _turn(stage, made.server_id, "running")
    assert await wait == calls.Nothing()


def _turn(stage: CloudStage, server_id: int, status: Literal["off", "running"]) -> None:
    stage.live.call(lambda cloud: setattr(cloud.project("demo").servers[server_id], "status", status))


async def test_a_slow_answer_does_not_silence_the_heartbeats(
    stage: CloudStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("activities.beating.BEAT_S", 0.05)
    beats: list[tuple[object, ...]] = []
    stage.environment.on_heartbeat = lambda *details: beats.append(details)
    stage.fault(method="GET", path="/servers/{id}", kind="slow", seconds=0.5, count=1)
    gone = machine_calls.AwaitServerGone(project=PROJECT, server_id=123)
    await stage.run(of(stage).await_server_gone, gone)
    assert len(beats) > 3


async def test_a_create_beats_and_is_not_cut_off_by_a_cancellation(
    stage: CloudStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("activities.beating.BEAT_S", 0.05)
    beats: list[tuple[object, ...]] = []
    stage.environment.on_heartbeat = lambda *details: beats.append(details)
    stage.fault(method="POST", path="/servers", kind="slow", seconds=0.5, count=1)
    create = asyncio.create_task(stage.run(of(stage).create_server, await create_call(stage)))
    await eventually(lambda: len(beats) > 3)
    stage.environment.cancel()
    assert (await create).server_id in stage.live.call(lambda cloud: set(cloud.project("demo").servers))
