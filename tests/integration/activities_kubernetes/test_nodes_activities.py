"""A node is waited for, brought into step and reaped, and nobody else's things are touched."""

from __future__ import annotations

import asyncio
from typing import Any

from kubernetes.aio import client
from temporalio.exceptions import ApplicationError

from activities.nodes import NodeActivities
from core import calls, machine_calls
from core.labels import Effect, Taint
from core.machine import Presence
from core.node_keys import OWNED_LABELS, OWNED_TAINTS
from tests.cluster_world import eventually
from tests.integration.activities_kubernetes.kube_stage import CLUSTER, Stage

BATCH = Taint(key="dedicated", value="batch", effect=Effect.NO_SCHEDULE)
OTHERS = {"key": "team.example/maintenance", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}


async def sight(stage: Stage, **given: Any) -> machine_calls.NodeSeen:
    call = machine_calls.AwaitNode(cluster=CLUSTER, **({"machine": "pool-1", "server_id": 1001} | given))
    return await asyncio.wait_for(stage.run(NodeActivities(stage.apis, stage.caches).await_node, call), 10)


async def test_a_joining_node_is_told_step_by_step_until_it_takes_work(stage: Stage) -> None:
    world, seen = stage.world, None
    world.nodes.boot(world.server(1, await world.bootstrap_token()))
    waited: list[str] = []
    while seen is None or not seen.ready:
        seen = await sight(stage, known_digest=seen.digest if seen else "")
        waited.append(seen.waiting_for)
    assert seen.presence is Presence.PRESENT
    assert seen.version == stage.world.version
    assert any("CNI" in text for text in waited)
    assert waited[-1] == ""


async def test_a_node_of_the_name_that_is_another_server_is_not_the_machine_s(stage: Stage) -> None:
    await stage.world.ready_node(1)
    assert (await sight(stage)).ready
    assert (await sight(stage, server_id=9999, known_digest="seen before")).presence is Presence.ABSENT


async def test_a_node_that_was_there_and_is_gone_is_told_and_one_not_yet_there_is_not(stage: Stage) -> None:
    await stage.world.ready_node(1)
    seen = await sight(stage)
    waiting = asyncio.create_task(sight(stage, known_digest=seen.digest))
    absent = asyncio.create_task(sight(stage, machine="pool-2", server_id=1002))
    await stage.world.nodes.gone(1001)
    await stage.world.core.delete_node("pool-1")
    gone = await waiting
    while gone.presence is Presence.PRESENT:  # what its last moments changed is told as well
        gone = await sight(stage, known_digest=gone.digest)
    assert (gone.presence, gone.digest) == (Presence.ABSENT, "")
    assert not absent.done()
    await stage.world.core.create_node({"metadata": {"name": "pool-2"}})
    assert (await absent).presence is Presence.PRESENT


async def test_a_node_without_a_hetzner_provider_id_is_known_by_name(stage: Stage) -> None:
    await stage.world.core.create_node({"metadata": {"name": "pool-7"}, "spec": {"providerID": "k3s://pool-7"}})
    seen = await sight(stage, machine="pool-7", server_id=7)
    assert (seen.presence, seen.ready) == (Presence.PRESENT, False)


async def sync(stage: Stage, node: Any, labels: dict[str, str], *taints: Taint) -> calls.Synced:
    call = calls.SyncNodes(
        cluster=CLUSTER, nodes={node.metadata.name: node.metadata.uid}, labels=labels, taints=list(taints)
    )
    return await stage.run(NodeActivities(stage.apis, stage.caches).sync_nodes, call)


async def test_what_left_the_spec_is_removed_and_what_others_put_there_stays(stage: Stage) -> None:
    core = stage.world.core
    node = await stage.world.ready_node(1)
    theirs = {"metadata": {"labels": {"theirs": "1"}}, "spec": {"taints": [OTHERS]}}
    await core.patch_node("pool-1", theirs, _content_type="application/merge-patch+json")
    synced = await sync(stage, node, {"workload": "batch", "size": "big"}, BATCH)
    assert "workload=batch" in synced.changed["pool-1"]
    assert "dedicated" in synced.changed["pool-1"]
    assert (await sync(stage, node, {"workload": "batch", "size": "big"}, BATCH)).changed == {"pool-1": ""}
    await sync(stage, node, {"workload": "web"})
    after = await core.read_node("pool-1")
    assert after.metadata.labels["workload"] == "web"
    assert after.metadata.labels["theirs"] == "1"
    assert "size" not in after.metadata.labels
    assert [(taint.key, taint.time_added is not None) for taint in after.spec.taints] == [(OTHERS["key"], True)]
    assert after.metadata.annotations[OWNED_LABELS] == "workload"
    assert not after.metadata.annotations.get(OWNED_TAINTS)


async def test_a_node_made_anew_under_the_name_is_missing_and_not_written(stage: Stage) -> None:
    node = await stage.world.ready_node(1)
    node.metadata.uid = "another-uid"
    assert (await sync(stage, node, {"a": "b"})).missing == ["pool-1"]
    assert "a" not in (await stage.world.core.read_node("pool-1")).metadata.labels


async def test_a_sync_survives_others_writing_the_node_at_the_same_time(stage: Stage) -> None:
    node = await stage.world.ready_node(1)
    done = asyncio.Event()

    async def busy() -> int:
        count = 0
        while not done.is_set():
            await stage.world.core.patch_node("pool-1", {"metadata": {"annotations": {"busy": str(count)}}})
            count += 1
        return count

    writer = asyncio.create_task(busy())
    for number in range(5):

        async def one(value: str = str(number)) -> bool:
            try:
                return bool((await sync(stage, node, {"n": value})).changed["pool-1"])
            except ApplicationError as error:
                return error.non_retryable  # Temporal would try again

        await eventually(one)
    done.set()
    assert await writer > 5
    assert (await stage.world.core.read_node("pool-1")).metadata.labels["n"] == "4"


async def reap(stage: Stage, **given: Any) -> bool:
    fields = {"machine": "pool-1", "server_id": 1001, "node_uid": None} | given
    call = machine_calls.ReapNode(cluster=CLUSTER, **fields)
    return (await stage.run(NodeActivities(stage.apis, stage.caches).reap_node, call)).removed


async def test_reaping_takes_the_node_and_its_password_and_twice_is_fine(stage: Stage) -> None:
    core = stage.world.core
    await stage.world.ready_node(1)
    await core.create_namespaced_secret("kube-system", {"metadata": {"name": "pool-1.node-password.k3s"}})
    await core.create_namespaced_secret("kube-system", {"metadata": {"name": "pool-2.node-password.k3s"}})
    await stage.world.nodes.gone(1001)
    assert await reap(stage)
    assert not await reap(stage)
    assert [node.metadata.name for node in (await core.list_node()).items] == []
    left = [secret.metadata.name for secret in (await core.list_namespaced_secret("kube-system")).items]
    assert [name for name in left if "password" in name] == ["pool-2.node-password.k3s"]


async def test_another_machine_s_node_of_that_name_is_not_reaped(stage: Stage) -> None:
    await stage.world.ready_node(1)
    assert not await reap(stage, server_id=5, node_uid="another-uid")
    await stage.world.core.create_namespaced_secret("kube-system", {"metadata": {"name": "pool-1.node-password.k3s"}})
    assert not await reap(stage, server_id=5)
    assert await stage.world.core.read_namespaced_secret("pool-1.node-password.k3s", "kube-system")
    assert (await stage.world.core.read_node("pool-1")).metadata.name == "pool-1"


async def test_a_node_that_registered_anew_is_still_its_server_s(stage: Stage) -> None:
    await stage.world.ready_node(1)
    assert await reap(stage, node_uid="its-uid-before")


async def test_counting_pods_counts_what_a_drain_would_move(stage: Stage) -> None:
    await stage.world.ready_node(1)
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
    apps = client.AppsV1Api(stage.world.api)
    await apps.create_namespaced_deployment("default", {"metadata": {"name": "web"}, "spec": spec | {"replicas": 3}})
    # Raw: the typed client refuses a status whose counts nobody has filled in yet.
    await apps.create_namespaced_daemon_set_without_preload_content(
        "default", {"metadata": {"name": "agent"}, "spec": spec}
    )

    async def placed() -> bool:
        pods = (await stage.world.core.list_namespaced_pod("default")).items
        return len(pods) == 4 and all(pod.spec.node_name for pod in pods)

    await eventually(placed)
    activities = NodeActivities(stage.apis, stage.caches)
    counted = await stage.run(activities.count_pods, calls.CountPods(cluster=CLUSTER, nodes=["pool-1", "gone"]))
    assert counted.pods == 3
