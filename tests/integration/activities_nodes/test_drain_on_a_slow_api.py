"""An API server that is slow or busy neither ends a drain nor lets it look dead."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from kubernetes.aio import client

from activities.drain import DrainActivities
from core.machine_calls import DrainNode, DrainOutcome, DrainResult
from sandbox.kubernetes.faults import ApiFault
from tests.cluster_world import eventually
from tests.integration.activities_kubernetes.kube_stage import CLUSTER, Stage

BEAT_WITHIN_S = 5.0  # a third of the heartbeat timeout


async def cordoned_node_with_a_pod(stage: Stage) -> str:
    """The UID of node pool-1, on which one pod runs."""
    node = await stage.world.ready_node(1)
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    apps = client.AppsV1Api(stage.world.api)
    await apps.create_namespaced_replica_set("default", {"metadata": {"name": "web"}, "spec": spec})

    async def running() -> bool:
        pods = (await stage.world.core.list_namespaced_pod("default")).items
        return [pod.status.phase for pod in pods] == ["Running"]

    await eventually(running)
    await stage.world.core.patch_node("pool-1", {"spec": {"unschedulable": True}})
    return str(node.metadata.uid)


async def drain(stage: Stage, uid: str) -> DrainResult:
    """Drain node pool-1."""
    deadline = datetime.now(UTC) + timedelta(seconds=30)
    call = DrainNode(cluster=CLUSTER, machine="pool-1", node_uid=uid, deadline=deadline)
    return await stage.run(DrainActivities(stage.apis, look_s=0.05).drain_node, call)


@pytest.mark.simulator
async def test_throttling_is_waited_for_and_holds_nothing(stage: Stage) -> None:
    uid = await cordoned_node_with_a_pod(stage)
    fault = ApiFault("POST", "*/eviction", 429)
    stage.world.cluster.faults.add(fault)
    result = await drain(stage, uid)
    assert (result.outcome, result.evicted, result.holds) == (DrainOutcome.DRAINED, 1, [])
    assert fault.count == 0


@pytest.mark.simulator
@pytest.mark.parametrize(("method", "path"), [("POST", "*/eviction"), ("GET", "/api/v1/nodes/pool-1")])
async def test_a_slow_answer_does_not_silence_the_heartbeat(stage: Stage, method: str, path: str) -> None:
    uid = await cordoned_node_with_a_pod(stage)
    fault = ApiFault(method, path, code=0, delay=BEAT_WITHIN_S + 1)
    stage.world.cluster.faults.add(fault)
    going = asyncio.create_task(drain(stage, uid))

    async def met() -> bool:
        return fault.count == 0

    await eventually(met)
    before = len(stage.beats)

    async def beaten() -> bool:
        return len(stage.beats) > before

    await eventually(beaten, BEAT_WITHIN_S)
    assert (await going).outcome is DrainOutcome.DRAINED
