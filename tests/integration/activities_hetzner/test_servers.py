"""One server a machine, whatever the cloud answers to its create."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from core import machine_calls
from core.cloud_errors import CloudClass
from sandbox.hetzner import images, routes_catalogue, views
from sandbox.hetzner.records import Limits
from tests.integration.activities_hetzner.cloud_stage import OWNER, PROJECT, CloudStage, eventually
from tests.integration.activities_hetzner.orders import await_call, create_call, delete_call, of


async def test_created_seen_running_deleted_and_gone(stage: CloudStage) -> None:
    servers = of(stage)
    made = await stage.run(servers.create_server, await create_call(stage))
    assert (made.adopted, len(made.action_ids), made.ipv4 != "") == (False, 2, True)
    await stage.run(servers.await_server, await_call(made))
    sent = await stage.run(servers.delete_server, delete_call(made.server_id))
    assert sent.server_id == made.server_id
    await stage.run(servers.await_server_gone, machine_calls.AwaitServerGone(project=PROJECT, server_id=made.server_id))
    assert stage.servers() == []


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "reset", "after_commit": True},
        {"kind": "html", "status": 502, "after_commit": True},
        {"kind": "error", "code": "server_error", "status": 500, "after_commit": True},
        {"kind": "error", "code": "something_new", "status": 418, "after_commit": True},
    ],
)
async def test_a_lost_answer_is_looked_up_and_adopted(stage: CloudStage, fault: dict[str, Any]) -> None:
    call = await create_call(stage)
    stage.fault(method="POST", path="/servers", count=1, **fault)
    made = await stage.run(of(stage).create_server, call)
    assert made.adopted
    assert stage.servers() == ["prod-workers-a"]


@pytest.mark.parametrize("fault", [{"kind": "reset"}, {"kind": "error", "code": "server_error", "status": 500}])
async def test_a_create_that_never_arrived_is_tried_again(stage: CloudStage, fault: dict[str, Any]) -> None:
    call = await create_call(stage)
    stage.fault(method="POST", path="/servers", count=1, **fault)
    failure, again = await stage.failure(of(stage).create_server, call)
    assert (failure.cls in (CloudClass.UNKNOWN, CloudClass.BUSY), again) == (True, True)
    stage.attempt(2)
    assert not (await stage.run(of(stage).create_server, call)).adopted
    assert stage.servers() == ["prod-workers-a"]


@pytest.mark.parametrize("attempt", [1, 2])
async def test_twice_gives_the_same_server(stage: CloudStage, attempt: int) -> None:
    call = await create_call(stage)
    first = await stage.run(of(stage).create_server, call)
    stage.attempt(attempt)
    second = await stage.run(of(stage).create_server, call)
    assert (second.server_id, second.adopted) == (first.server_id, True)


async def test_a_first_attempt_is_one_request_and_a_later_one_looks_before_it(stage: CloudStage) -> None:
    call = await create_call(stage)
    servers = of(stage)
    await stage.run(servers.create_server, call)
    assert (stage.requests("POST", "/servers"), stage.requests("GET", "/servers")) == (1, 0)
    stage.attempt(2)
    await stage.run(of(stage).create_server, call)
    assert (stage.requests("POST", "/servers"), stage.requests("GET", "/servers")) == (1, 1)


@pytest.mark.parametrize("attempt", [1, 2])
async def test_a_name_that_a_lagging_list_does_not_show_is_never_made_twice(stage: CloudStage, attempt: int) -> None:
    call = await create_call(stage)
    stage.fault(kind="stale_list", name="prod-workers-a", seconds=0.3)
    await stage.run(of(stage).create_server, call)
    stage.attempt(attempt)
    failure, again = await stage.failure(of(stage).create_server, call)
    assert (failure.code, again) == ("uniqueness_error", True)
    assert stage.servers() == ["prod-workers-a"]


@pytest.mark.parametrize("attempt", [1, 2])
async def test_two_workers_that_both_create_make_one_server(stage: CloudStage, attempt: int) -> None:
    """The first is taken for dead while its create is under way; `attempt` is what the second one runs as."""
    call = await create_call(stage)
    stage.fault(method="POST", path="/servers", kind="slow", seconds=0.5, count=1)
    slow = asyncio.create_task(ActivityEnvironment().run(of(stage).create_server, call))
    await eventually(lambda: stage.servers() != [])
    stage.attempt(attempt)
    quick = await stage.run(of(stage).create_server, call)
    first = await slow
    assert (quick.server_id, quick.adopted, first.adopted) == (first.server_id, True, False)
    assert stage.servers() == ["prod-workers-a"]


@pytest.mark.parametrize("attempt", [1, 2])
async def test_a_refusal_that_comes_before_the_taken_name_hides_no_server(stage: CloudStage, attempt: int) -> None:
    call = await create_call(stage)
    first = await stage.run(of(stage).create_server, call)
    stage.attempt(attempt)
    stage.live.call(lambda cloud: cloud.world.stock.set_level("cx23", "hel1", remaining=0))
    assert (await stage.run(of(stage).create_server, call)).server_id == first.server_id
    stage.live.call(lambda cloud: cloud.world.stock.set_level("cx23", "hel1", remaining=None))
    full = Limits(servers=1, primary_ips=2, requests_per_hour=3600)
    stage.live.call(lambda cloud: cloud.set_limits(cloud.project("demo"), full))
    assert (await stage.run(of(stage).create_server, call)).server_id == first.server_id


async def test_machines_of_one_type_share_what_is_asked_of_the_catalogue(stage: CloudStage) -> None:
    servers = of(stage)
    for name in ("prod-workers-a", "prod-workers-b"):
        await stage.run(servers.create_server, await create_call(stage, machine=name))
    assert (stage.requests("GET", "/images"), stage.requests("GET", "/server_types")) == (1, 1)


async def test_an_image_that_was_replaced_meanwhile_is_asked_for_anew(
    stage: CloudStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = of(stage)
    await stage.run(servers.create_server, await create_call(stage))
    renewed = tuple(replace(image, id=image.id + 7) for image in images.IMAGES)
    for module in (images, routes_catalogue):
        monkeypatch.setattr(module, "IMAGES", renewed)
    for image in renewed:
        monkeypatch.setitem(views._IMAGE_BY_ID, image.id, image)
    await stage.run(servers.create_server, await create_call(stage, machine="prod-workers-b"))
    assert stage.servers() == ["prod-workers-a", "prod-workers-b"]


async def test_an_earlier_operation_s_server_is_not_adopted(stage: CloudStage) -> None:
    await stage.run(of(stage).create_server, await create_call(stage))
    later = await create_call(stage, owner=OWNER.model_copy(update={"operation_id": "op-2"}))
    assert (await stage.failure(of(stage).create_server, later))[0].code == "name_taken"


async def test_stock_quota_and_a_wrong_type_are_told_apart(stage: CloudStage) -> None:
    stage.live.call(lambda cloud: cloud.world.stock.set_level("cx23", "hel1", remaining=0, advertised=True))
    failure, again = await stage.failure(of(stage).create_server, await create_call(stage))
    assert (failure.cls, again) == (CloudClass.STOCK, False)
    failure, again = await stage.failure(of(stage).create_server, await create_call(stage, server_type="cx99"))
    assert (failure.cls, again) == (CloudClass.INVALID, False)
    failure, again = await stage.failure(of(stage).create_server, await create_call(stage, location="ash"))
    assert (failure.cls, again) == (CloudClass.STOCK, False)
    limits = Limits(servers=0, primary_ips=5, requests_per_hour=3600)
    stage.live.call(lambda cloud: cloud.set_limits(cloud.project("demo"), limits))
    failure, again = await stage.failure(of(stage).create_server, await create_call(stage, location="fsn1"))
    assert (failure.cls, again, len(failure.correlation_id) > 8) == (CloudClass.QUOTA, False, True)


async def test_too_long_user_data_is_refused_before_it_is_sent(stage: CloudStage) -> None:
    stage.user_data = "#" * 32769
    failure, again = await stage.failure(of(stage).create_server, await create_call(stage))
    assert (failure.code, again, stage.requests("POST", "/servers")) == ("user_data_too_long", False, 0)


async def test_who_adopts_learns_which_actions_to_wait_for(stage: CloudStage) -> None:
    call = await create_call(stage)
    first = await stage.run(of(stage).create_server, call)
    second = await stage.run(of(stage).create_server, call)
    assert sorted(second.action_ids) == sorted(first.action_ids)


async def test_a_token_that_may_only_read_is_a_credential_s_fault(stage: CloudStage) -> None:
    call = await create_call(stage)
    stage.tokens.now = stage.live.call(lambda cloud: cloud.token("demo", "viewer").value)
    failure, again = await stage.failure(of(stage).create_server, call)
    assert (failure.cls, failure.code, again) == (CloudClass.CREDENTIAL, "token_readonly", False)
    assert stage.servers() == []
