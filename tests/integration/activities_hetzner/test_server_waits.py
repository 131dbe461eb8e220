"""Seen running, seen gone: waits that ask little, beat, and believe only what proves something."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest

from activities.servers import ServerActivities
from core import calls, machine_calls
from core.cloud_errors import CloudClass
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
