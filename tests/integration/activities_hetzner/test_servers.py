"""One server a machine, whatever the cloud answers; only what is ours is deleted; gone means 404."""

from __future__ import annotations

from typing import Any

import pytest

from activities.keys import KeyActivities
from activities.servers import ServerActivities
from core import calls, machine_calls
from core.cloud_errors import CloudClass
from sandbox.hetzner.records import Limits
from tests.integration.activities_hetzner.cloud_stage import OWNER, PROJECT, CloudStage

POOL_OWNER = OWNER.model_copy(update={"operation_id": ""})


def of(stage: CloudStage) -> ServerActivities:
    return ServerActivities(stage.cloud, stage.vault, stage.user_data_for, poll_s=0.05)


async def key(stage: CloudStage) -> int:
    keys = KeyActivities(stage.cloud, stage.vault)
    call = calls.EnsureKey(project=PROJECT, owner=POOL_OWNER, name="prod-workers-key")
    return (await stage.run(keys.ensure_key, call)).key_id


async def create_call(stage: CloudStage, **changes: Any) -> machine_calls.CreateServer:
    fields: dict[str, Any] = {
        "project": PROJECT,
        "cluster": calls.ClusterRef(organization="acme", cluster="prod"),
        "owner": OWNER,
        "pool": "workers",
        "machine": "prod-workers-a",
        "location": "hel1",
        "server_type": "cx23",
        "ssh_key_id": await key(stage),
        "labels": {},
        "taints": [],
    }
    return machine_calls.CreateServer(**(fields | changes))


def delete_call(server_id: int | None, **changes: Any) -> machine_calls.DeleteServer:
    fields: dict[str, Any] = {"project": PROJECT, "owner": OWNER, "machine": "prod-workers-a", "server_id": server_id}
    return machine_calls.DeleteServer(**(fields | changes))


async def test_created_seen_running_deleted_and_gone(stage: CloudStage) -> None:
    servers = of(stage)
    made = await stage.run(servers.create_server, await create_call(stage))
    assert (made.adopted, len(made.action_ids), made.ipv4 != "") == (False, 2, True)
    await stage.run(
        servers.await_server,
        machine_calls.AwaitServer(project=PROJECT, server_id=made.server_id, action_ids=made.action_ids),
    )
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
    assert not (await stage.run(of(stage).create_server, call)).adopted
    assert stage.servers() == ["prod-workers-a"]


async def test_twice_gives_the_same_server(stage: CloudStage) -> None:
    call = await create_call(stage)
    first = await stage.run(of(stage).create_server, call)
    second = await stage.run(of(stage).create_server, call)
    assert (second.server_id, second.adopted) == (first.server_id, True)


async def test_a_name_that_a_lagging_list_does_not_show_is_never_made_twice(stage: CloudStage) -> None:
    call = await create_call(stage)
    stage.fault(kind="stale_list", name="prod-workers-a", seconds=0.3)
    await stage.run(of(stage).create_server, call)
    failure, again = await stage.failure(of(stage).create_server, call)
    assert (failure.code, again) == ("uniqueness_error", True)
    assert stage.servers() == ["prod-workers-a"]


async def test_somebody_else_s_server_of_that_name_is_neither_adopted_nor_deleted(stage: CloudStage) -> None:
    other = OWNER.model_copy(update={"pool_id": "pool-2"})
    theirs = await stage.run(of(stage).create_server, await create_call(stage, owner=other))
    failure, again = await stage.failure(of(stage).create_server, await create_call(stage))
    assert (failure.cls, failure.code, again) == (CloudClass.INVALID, "name_taken", False)
    assert (await stage.run(of(stage).delete_server, delete_call(None))).server_id is None
    blocked, again = await stage.failure(of(stage).delete_server, delete_call(theirs.server_id))
    assert (blocked.cls, again) == (CloudClass.BLOCKED, False)
    assert stage.servers() == ["prod-workers-a"]


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
    call = machine_calls.AwaitServer(project=PROJECT, server_id=made.server_id, action_ids=made.action_ids)
    await stage.run(of(stage).await_server, call)
    assert 1 <= stage.requests("GET", "/actions") - before <= 8


async def test_a_protected_server_needs_a_person(stage: CloudStage) -> None:
    made = await stage.run(of(stage).create_server, await create_call(stage))
    await stage.run(
        of(stage).await_server,
        machine_calls.AwaitServer(project=PROJECT, server_id=made.server_id, action_ids=made.action_ids),
    )
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
    await stage.run(
        of(stage).await_server,
        machine_calls.AwaitServer(project=PROJECT, server_id=made.server_id, action_ids=made.action_ids),
    )
    assert (await stage.run(of(stage).delete_server, delete_call(None))).server_id == made.server_id


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
