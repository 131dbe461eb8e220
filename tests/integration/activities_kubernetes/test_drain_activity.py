"""A drain moves what must move, within its budgets, says what holds it, and always ends."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from kubernetes.aio import client

from activities.cordon import CordonActivities
from activities.drain import DrainActivities
from core import machine_calls
from core.drain_holds import Pauses
from core.machine_calls import DrainOutcome, DrainResult, Hold
from sandbox.hollow import Fault
from tests.cluster_world import eventually
from tests.integration.activities_kubernetes.kube_stage import CLUSTER, Stage
from tests.integration.activities_kubernetes.workloads import budget, on_node, pods_of, running

QUICK = Pauses(first=0.1, longest=0.3)


async def cordoned(stage: Stage, number: int = 1) -> str:
    """Cordon a node as a retirement does; gives its UID."""
    call = machine_calls.CordonNode(
        cluster=CLUSTER, machine=f"pool-{number}", server_id=1000 + number, node_uid=None, operation_id="retire-1"
    )
    done = await stage.run(CordonActivities(stage.apis, stage.events).cordon_node, call)
    assert done.node_uid is not None
    return done.node_uid


async def drain(stage: Stage, uid: str, seconds: float = 20, known: list[Hold] | None = None) -> DrainResult:
    call = machine_calls.DrainNode(
        cluster=CLUSTER,
        machine="pool-1",
        node_uid=uid,
        deadline=datetime.now(UTC) + timedelta(seconds=seconds),
        known_holds=known or [],
    )
    activities = DrainActivities(stage.apis, QUICK, look_s=0.05)
    return await asyncio.wait_for(stage.run(activities.drain_node, call), seconds + 10)


async def daemon(stage: Stage) -> None:
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    spec = {"selector": {"matchLabels": {"app": "agent"}}, "template": template}
    # Raw: the typed client refuses a status whose counts nobody has filled in yet.
    await client.AppsV1Api(stage.world.api).create_namespaced_daemon_set_without_preload_content(
        "default", {"metadata": {"name": "agent"}, "spec": spec}
    )
    await eventually(lambda: pods_of(stage, "agent", 1))


async def test_a_drained_node_keeps_its_daemons_and_loses_the_rest(stage: Stage) -> None:
    await stage.world.ready_node(1)
    await daemon(stage)
    await running(stage, "web", 3)
    done = await drain(stage, await cordoned(stage))
    assert (done.outcome, done.evicted, done.holds) == (DrainOutcome.DRAINED, 3, [])
    left = await on_node(stage, "pool-1")
    assert len(left) == 1
    assert left[0].startswith("agent-")


def pod_ready(pod: Any) -> bool:
    conditions = pod.status.conditions or ()
    return any(condition.type == "Ready" and condition.status == "True" for condition in conditions)


async def test_a_budget_that_allows_one_at_a_time_is_kept_while_pods_move(stage: Stage) -> None:
    await stage.world.ready_node(1)
    await running(stage, "web", 3)
    await budget(stage, "web", 1, maxUnavailable=1)
    uid = await cordoned(stage)
    await stage.world.ready_node(2)
    evicted, known, least = 0, list[Hold](), 3

    async def watch() -> None:
        nonlocal least
        while True:
            pods = (await stage.world.core.list_namespaced_pod("default")).items
            ready = [
                p for p in pods if any(c.type == "Ready" and c.status == "True" for c in p.status.conditions or ())
            ]
            least = min(least, len(ready))
            await asyncio.sleep(0.02)

    watcher = asyncio.create_task(watch())
    while True:
        done = await drain(stage, uid, known=known)
        evicted, known = evicted + done.evicted, done.holds
        if done.outcome is not DrainOutcome.HELD:
            break
    watcher.cancel()
    assert (done.outcome, evicted) == (DrainOutcome.DRAINED, 3)
    assert least >= 2


@pytest.mark.simulator
async def test_a_spent_budget_is_told_once_and_the_drain_goes_on_when_it_is_lifted(stage: Stage) -> None:
    await stage.world.ready_node(1)
    (name,) = await running(stage, "web", 1)
    await budget(stage, "web", 0, minAvailable=1)
    uid = await cordoned(stage)
    held = await drain(stage, uid)
    assert held.outcome is DrainOutcome.HELD
    (hold,) = held.holds
    assert (hold.pod, hold.budget) == (f"default/{name}", "web-budget")
    assert "needs 1 healthy pods and has 1 currently" in hold.message
    waiting = asyncio.create_task(drain(stage, uid, known=held.holds))
    await eventually(lambda: _tried(stage, 3))
    assert not waiting.done()
    await client.PolicyV1Api(stage.world.api).delete_namespaced_pod_disruption_budget("web-budget", "default")
    freed = await waiting
    assert (freed.outcome, freed.evicted, freed.holds) == (DrainOutcome.HELD, 1, [])
    assert (await drain(stage, uid)).outcome is DrainOutcome.DRAINED


async def _tried(stage: Stage, times: int) -> bool:
    return stage.world.cluster.counts["POST pods/eviction 429"] >= times


async def test_a_held_pod_keeps_no_other_pod_on_the_node(stage: Stage) -> None:
    await stage.world.ready_node(1)
    await running(stage, "held", 1)
    await budget(stage, "held", 0, minAvailable=1)
    await client.SchedulingV1Api(stage.world.api).create_priority_class({"metadata": {"name": "high"}, "value": 1000})
    await running(stage, "free", 2, priorityClassName="high")
    uid = await cordoned(stage)
    held = await drain(stage, uid)
    assert [hold.budget for hold in held.holds] == ["held-budget"]
    done = await drain(stage, uid, seconds=2, known=held.holds)
    assert (done.outcome, done.evicted) == (DrainOutcome.TIMED_OUT, 2)
    assert [hold.budget for hold in done.holds] == ["held-budget"]


@pytest.mark.simulator
async def test_critical_pods_go_last(stage: Stage) -> None:
    await stage.world.ready_node(1)
    await running(stage, "dns", 1, priorityClassName="system-cluster-critical")
    await running(stage, "web", 2)
    assert (await drain(stage, await cordoned(stage))).outcome is DrainOutcome.DRAINED
    asked = [r.path.split("/")[6] for r in stage.world.cluster.requests if r.path.endswith("/eviction")]
    assert [name.split("-")[0] for name in asked] == ["web", "web", "dns"]


@pytest.mark.simulator
async def test_two_budgets_on_one_pod_are_told_and_not_hammered(stage: Stage) -> None:
    await stage.world.ready_node(1)
    await running(stage, "web", 1)
    await budget(stage, "web", 1, minAvailable=0)
    await budget(stage, "web", 1, name="second", minAvailable=0)
    uid = await cordoned(stage)
    held = await drain(stage, uid)
    assert "more than one PodDisruptionBudget" in held.holds[0].message
    assert (await drain(stage, uid, seconds=1, known=held.holds)).outcome is DrainOutcome.TIMED_OUT
    assert stage.world.cluster.counts["POST pods/eviction 500"] <= 6


async def test_more_holds_than_a_result_carries_do_not_make_it_return_again_and_again(stage: Stage) -> None:
    await stage.world.ready_node(1)
    await running(stage, "web", 25)
    await budget(stage, "web", 0, maxUnavailable=0)
    uid, known, returned = await cordoned(stage), list[Hold](), 0
    while True:
        done = await drain(stage, uid, seconds=1.5, known=known)
        known = done.holds
        if done.outcome is DrainOutcome.TIMED_OUT:
            break
        returned += 1
    assert len(known) == 20
    assert returned <= 3


async def test_the_deadline_ends_a_drain_and_says_what_was_left(stage: Stage) -> None:
    await stage.world.ready_node(1)
    (name,) = await running(stage, "web", 1, terminationGracePeriodSeconds=600)
    annotations = {"metadata": {"annotations": {"hollow-node/stop-seconds": "600"}}}
    await stage.world.core.patch_namespaced_pod(name, "default", annotations)
    done = await drain(stage, await cordoned(stage), seconds=1)
    assert (done.outcome, done.evicted) == (DrainOutcome.TIMED_OUT, 1)
    assert done.holds == [Hold(pod=f"default/{name}", message="it is still terminating")]
    assert stage.beats[0] == ({"evicted": 0, "terminating": 0, "blocked": []},)


async def test_a_silent_node_s_pods_are_not_waited_for(stage: Stage) -> None:
    await stage.world.ready_node(1)
    await running(stage, "web", 2)
    uid = await cordoned(stage)
    node = stage.world.nodes.get("pool-1")
    assert node is not None
    await node.set_fault(Fault.FROZEN)
    await eventually(lambda: stage.world.node_if("pool-1", "Unknown"))
    done = await drain(stage, uid)
    assert done.outcome is DrainOutcome.DRAINED
    leaving = [pod for pod in (await stage.world.core.list_namespaced_pod("default")).items if pod.spec.node_name]
    assert all(pod.metadata.deletion_timestamp for pod in leaving)


async def test_a_pod_that_comes_back_to_the_cordoned_node_is_left_alone(stage: Stage) -> None:
    await stage.world.ready_node(1)
    await running(stage, "everywhere", 1, tolerations=[{"operator": "Exists"}])
    done = await drain(stage, await cordoned(stage))
    assert (done.outcome, done.evicted) == (DrainOutcome.DRAINED, 1)


@pytest.mark.simulator
async def test_a_volume_that_is_still_attached_is_waited_for(stage: Stage) -> None:
    await stage.world.ready_node(1)
    storage = client.StorageV1Api(stage.world.api)
    spec = {"attacher": "csi.hetzner.cloud", "nodeName": "pool-1", "source": {"persistentVolumeName": "pv-1"}}
    await storage.create_volume_attachment({"metadata": {"name": "csi-1"}, "spec": spec})
    uid = await cordoned(stage)
    draining = asyncio.create_task(drain(stage, uid))
    await eventually(lambda: _looked(stage, 3))
    assert not draining.done()
    await storage.delete_volume_attachment_without_preload_content("csi-1")
    assert (await draining).outcome is DrainOutcome.DRAINED


async def _looked(stage: Stage, times: int) -> bool:
    return stage.world.cluster.counts["GET volumeattachments.storage.k8s.io 200"] >= times


@pytest.mark.parametrize("change", [{"node_uid": "another-uid"}, {"machine": "nobody"}])
async def test_a_node_that_is_gone_needs_no_drain(stage: Stage, change: dict[str, Any]) -> None:
    await stage.world.ready_node(1)
    uid = await cordoned(stage)
    deadline = datetime.now(UTC) + timedelta(seconds=5)
    fields = {"machine": "pool-1", "node_uid": uid, "deadline": deadline} | change
    done = await stage.run(DrainActivities(stage.apis).drain_node, machine_calls.DrainNode(cluster=CLUSTER, **fields))
    assert done.outcome is DrainOutcome.NODE_GONE


async def test_a_cluster_that_does_not_answer_keeps_no_machine_past_its_deadline(stage: Stage) -> None:
    stage.vault.kubeconfig = stage.vault.kubeconfig.replace(stage.world.url, "https://127.0.0.1:1")
    held = [Hold(pod="default/web", budget="web-budget", message="m")]
    done = await drain(stage, "any-uid", seconds=0, known=held)
    assert (done.outcome, done.holds) == (DrainOutcome.TIMED_OUT, held)
