"""A node that is to go is cordoned, and one that stays after all is as others left it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from kubernetes.aio.client.exceptions import ConflictException
from temporalio.exceptions import ApplicationError

from activities.cordon import CordonActivities
from core import autoscale_calls, machine_calls
from core.autoscale_calls import Uncordoned
from core.machine import Presence
from core.machine_calls import Cordoned
from core.node_keys import ADDED_WITH_CORDON, CORDONED_BY, NO_LOAD_BALANCER, TO_BE_DELETED
from tests.cluster_world import eventually
from tests.integration.activities_kubernetes.kube_stage import CLUSTER, Stage

KEYS = (CORDONED_BY, ADDED_WITH_CORDON, NO_LOAD_BALANCER)
THEIRS = {"key": "team.example/maintenance", "effect": "NoSchedule"}


async def cordon(stage: Stage, **given: Any) -> Cordoned:
    fields = {"machine": "pool-1", "server_id": 1001, "node_uid": None, "operation_id": "retire-1"} | given
    call = machine_calls.CordonNode(cluster=CLUSTER, **fields)
    return await stage.run(CordonActivities(stage.apis, stage.events).cordon_node, call)


async def uncordon(stage: Stage, uid: str | None, **given: Any) -> Uncordoned:
    fields = {"machine": "pool-1", "node_uid": uid, "operation_id": "retire-1", "why": "a pod landed"} | given
    call = autoscale_calls.UncordonNode(cluster=CLUSTER, **fields)
    return await stage.run(CordonActivities(stage.apis, stage.events).uncordon_node, call)


async def written(stage: Stage, name: str = "pool-1") -> tuple[bool, dict[str, str], dict[str, str]]:
    """What a cordon concerns: whether there is one, our labels and annotations, the NoSchedule taints by key.

    Without the taints that the node controller puts there and removes, each after a moment.
    """
    node = await stage.world.core.read_node(name)
    texts = {**node.metadata.labels, **(node.metadata.annotations or {})}
    scheduling = [taint for taint in node.spec.taints or [] if taint.effect == "NoSchedule"]
    taints = {taint.key: taint.value or "" for taint in scheduling if not taint.key.startswith("node.kubernetes.io/")}
    return bool(node.spec.unschedulable), {key: texts[key] for key in KEYS if key in texts}, taints


async def write(stage: Stage, body: dict[str, Any], name: str = "pool-1") -> None:
    await stage.world.core.patch_node(name, body, _content_type="application/merge-patch+json")


async def test_a_cordon_is_marked_as_ours_and_a_person_s_is_left_as_theirs(stage: Stage) -> None:
    for number in (1, 2):
        await stage.world.ready_node(number)
    await write(stage, {"spec": {"unschedulable": True}}, "pool-2")
    ours = await cordon(stage)
    await cordon(stage, machine="pool-2", server_id=1002)
    first, second = await stage.world.core.read_node("pool-1"), await stage.world.core.read_node("pool-2")
    assert (ours.presence, ours.node_uid) == (Presence.PRESENT, first.metadata.uid)
    assert first.spec.unschedulable
    assert first.metadata.annotations[CORDONED_BY] == "retire-1"
    assert CORDONED_BY not in (second.metadata.annotations or {})
    assert all(node.metadata.labels[NO_LOAD_BALANCER] == "true" for node in (first, second))
    assert (await written(stage))[2] == {}, "no taint that was not asked for"


@pytest.mark.parametrize("given", [{"machine": "nobody"}, {"server_id": 5}, {"server_id": 5, "node_uid": "x"}])
async def test_there_is_nothing_to_cordon_where_the_machine_has_no_node(stage: Stage, given: dict[str, Any]) -> None:
    await stage.world.ready_node(1)
    assert (await cordon(stage, **given)).presence is Presence.ABSENT
    assert not (await stage.world.core.read_node("pool-1")).spec.unschedulable


async def test_a_node_that_registered_anew_is_still_its_server_s(stage: Stage) -> None:
    await stage.world.ready_node(1)
    assert (await cordon(stage, node_uid="its-uid-before")).presence is Presence.PRESENT


async def test_a_taint_is_put_there_once_and_all_is_undone(stage: Stage) -> None:
    await stage.world.ready_node(1)
    await write(stage, {"spec": {"taints": [THEIRS]}})
    before = await written(stage)
    uid = (await cordon(stage, taint=True)).node_uid
    done = await written(stage)
    assert done[0]
    assert done[2][TO_BE_DELETED].isdigit()
    assert THEIRS["key"] in done[2]
    await cordon(stage, taint=True)
    assert await written(stage) == done
    undone = await uncordon(stage, uid)
    assert undone.presence is Presence.PRESENT
    assert undone.undone == f"uncordoned, label {NO_LOAD_BALANCER} removed, taint {TO_BE_DELETED} removed"
    assert await written(stage) == before
    assert (await uncordon(stage, uid)).undone == ""


@pytest.mark.parametrize(
    "theirs",
    [
        {"spec": {"unschedulable": True}},
        {"metadata": {"labels": {NO_LOAD_BALANCER: ""}}},
        {"spec": {"taints": [{"key": TO_BE_DELETED, "value": "1", "effect": "NoSchedule"}]}},
    ],
    ids=["cordon", "label", "taint"],
)
async def test_what_was_there_before_stays(stage: Stage, theirs: dict[str, Any]) -> None:
    await stage.world.ready_node(1)
    await write(stage, theirs)
    before = await written(stage)
    uid = (await cordon(stage, taint=True)).node_uid
    between = await written(stage)
    assert between[0]
    assert NO_LOAD_BALANCER in between[1]
    assert TO_BE_DELETED in between[2]
    await uncordon(stage, uid)
    assert await written(stage) == before


async def test_what_others_do_meanwhile_stays(stage: Stage) -> None:
    await stage.world.ready_node(1)
    uid = (await cordon(stage, taint=True)).node_uid
    await write(stage, {"metadata": {"labels": {NO_LOAD_BALANCER: "for-good"}}, "spec": {"unschedulable": False}})
    node = await stage.world.core.read_node("pool-1")
    taints = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in node.spec.taints]
    await write(stage, {"spec": {"taints": [*taints, THEIRS]}})
    undone = await uncordon(stage, uid)
    assert undone.undone == f"taint {TO_BE_DELETED} removed"
    assert await written(stage) == (False, {NO_LOAD_BALANCER: "for-good"}, {THEIRS["key"]: ""})


async def test_only_the_operation_that_cordoned_last_undoes_and_only_on_that_node(stage: Stage) -> None:
    await stage.world.ready_node(1)
    uid = (await cordon(stage, taint=True)).node_uid
    await cordon(stage, operation_id="retire-2")
    done = await written(stage)
    assert (await uncordon(stage, uid)).undone == ""
    assert (await uncordon(stage, "another-uid", operation_id="retire-2")).presence is Presence.ABSENT
    assert (await uncordon(stage, uid, machine="nobody")).presence is Presence.ABSENT
    assert await written(stage) == done
    await uncordon(stage, uid, operation_id="retire-2")
    assert await written(stage) == (False, {}, {}), "it took over what the one before had left"


async def test_taints_that_others_write_at_the_same_time_are_not_lost(stage: Stage) -> None:
    uid = (await stage.world.ready_node(1)).metadata.uid
    added: list[str] = []
    done = asyncio.Event()

    async def busy() -> None:
        while not done.is_set():
            node = await stage.world.core.read_node("pool-1")
            taints = [taint.to_dict() for taint in node.spec.taints or []]
            key = f"team.example/{len(added)}"
            version = {"metadata": {"resourceVersion": node.metadata.resource_version}}
            try:
                await write(stage, {**version, "spec": {"taints": [*taints, {"key": key, "effect": "NoExecute"}]}})
            except ConflictException:
                continue
            added.append(key)

    async def tried(act: Callable[[], Awaitable[Any]]) -> bool:
        try:
            await act()
        except ApplicationError as error:
            return error.non_retryable  # Temporal would try again
        return True

    writer = asyncio.create_task(busy())
    for _ in range(3):
        await eventually(lambda: tried(lambda: cordon(stage, taint=True)))
        await eventually(lambda: tried(lambda: uncordon(stage, uid)))
    done.set()
    await writer
    node = await stage.world.core.read_node("pool-1")
    assert added
    assert [taint.key for taint in node.spec.taints if taint.key.startswith("team.example/")] == added
    assert await written(stage) == (False, {}, {})
