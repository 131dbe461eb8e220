"""Only what is the pool's is deleted, and what is gone already is success."""

from __future__ import annotations

import pytest

from core import machine_calls
from core.cloud_errors import CloudClass
from tests.integration.activities_hetzner.cloud_stage import OWNER, PROJECT, CloudStage
from tests.integration.activities_hetzner.orders import await_call, create_call, delete_call, of


async def test_somebody_else_s_server_of_that_name_is_neither_adopted_nor_deleted(stage: CloudStage) -> None:
    other = OWNER.model_copy(update={"pool_id": "pool-2"})
    theirs = await stage.run(of(stage).create_server, await create_call(stage, owner=other))
    failure, again = await stage.failure(of(stage).create_server, await create_call(stage))
    assert (failure.cls, failure.code, again) == (CloudClass.INVALID, "name_taken", False)
    assert (await stage.run(of(stage).delete_server, delete_call(None))).server_id is None
    blocked, again = await stage.failure(of(stage).delete_server, delete_call(theirs.server_id))
    assert (blocked.cls, again) == (CloudClass.BLOCKED, False)
    assert stage.servers() == ["prod-workers-a"]


async def test_a_protected_server_needs_a_person(stage: CloudStage) -> None:
    made = await stage.run(of(stage).create_server, await create_call(stage))
    await stage.run(of(stage).await_server, await_call(made))
    body = {"delete": True, "rebuild": True}
    path = f"/servers/{made.server_id}/actions/change_protection"
    await stage.cloud.call(stage.tokens.now, lambda client: client.request("POST", path, json=body))
    failure, again = await stage.failure(of(stage).delete_server, delete_call(made.server_id))
    assert (failure.cls, again) == (CloudClass.BLOCKED, False)


async def test_deleting_what_is_gone_is_success(stage: CloudStage) -> None:
    assert (await stage.run(of(stage).delete_server, delete_call(123))).server_id == 123
    assert (await stage.run(of(stage).delete_server, delete_call(None))).server_id is None


async def test_a_lost_create_is_found_and_deleted_by_its_name(stage: CloudStage) -> None:
    made = await stage.run(of(stage).create_server, await create_call(stage))
    await stage.run(of(stage).await_server, await_call(made))
    assert (await stage.run(of(stage).delete_server, delete_call(None))).server_id == made.server_id


async def test_a_locked_server_is_tried_again(stage: CloudStage) -> None:
    made = await stage.run(of(stage).create_server, await create_call(stage))
    stage.fault(method="DELETE", path="/servers/{id}", kind="error", code="locked", status=423, count=1)
    failure, again = await stage.failure(of(stage).delete_server, delete_call(made.server_id))
    assert (failure.cls, again) == (CloudClass.BUSY, True)


async def test_a_delete_whose_answer_was_lost_is_still_told_with_its_id(stage: CloudStage) -> None:
    made = await stage.run(of(stage).create_server, await create_call(stage))
    await stage.run(of(stage).await_server, await_call(made))
    stage.fault(method="DELETE", path="/servers/{id}", kind="reset", after_commit=True, count=1)
    assert (await stage.failure(of(stage).delete_server, delete_call(made.server_id)))[1]
    gone = machine_calls.AwaitServerGone(project=PROJECT, server_id=made.server_id)
    await stage.run(of(stage).await_server_gone, gone)
    assert (await stage.run(of(stage).delete_server, delete_call(made.server_id))).server_id == made.server_id


async def test_who_deleted_waits_for_the_action_and_looks_for_the_proof_once(stage: CloudStage) -> None:
    servers = of(stage)
    made = await stage.run(servers.create_server, await create_call(stage))
    await stage.run(servers.await_server, await_call(made))
    await stage.run(servers.delete_server, delete_call(made.server_id))
    looks = stage.requests("GET", "/servers/{id}")
    gone = machine_calls.AwaitServerGone(project=PROJECT, server_id=made.server_id)
    await stage.run(servers.await_server_gone, gone)
    assert stage.requests("GET", "/servers/{id}", status=404) == stage.requests("GET", "/servers/{id}") - looks == 1


@pytest.mark.parametrize("code", ["not_found", "unauthorized", "unavailable"])
async def test_whatever_is_heard_of_the_action_a_404_of_the_server_ends_the_wait(stage: CloudStage, code: str) -> None:
    servers = of(stage)
    made = await stage.run(servers.create_server, await create_call(stage))
    await stage.run(servers.await_server, await_call(made))
    await stage.run(servers.delete_server, delete_call(made.server_id))
    stage.fault(method="GET", path="/actions", kind="error", code=code, status=404)
    gone = machine_calls.AwaitServerGone(project=PROJECT, server_id=made.server_id)
    await stage.run(servers.await_server_gone, gone)
    assert stage.servers() == []
    assert stage.requests("GET", "/servers/{id}", status=404) == 1
