"""Workload controllers and the scheduler: evicted pods come back, on nodes where they fit."""

from typing import Any

import pytest
from kubernetes.aio import client

from tests.cluster_world import World, eventually

COLLECTED_S = 120.0  # a real controller looks every 20 s, and waits 40 s more before it believes it


def template(app: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container], **spec}}


def selecting(app: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": app}, "spec": {"selector": {"matchLabels": {"app": app}}, **spec}}


async def pods_of(world: World, app: str) -> list[Any]:
    return list((await world.core.list_namespaced_pod("default", label_selector=f"app={app}")).items)


async def running(world: World, app: str, count: int) -> list[Any]:
    async def enough() -> list[Any]:
        pods = [p for p in await pods_of(world, app) if not p.metadata.deletion_timestamp]
        ready = [p for p in pods if any(c.type == "Ready" and c.status == "True" for c in p.status.conditions or ())]
        return ready if len(ready) == len(pods) == count else []

    return await eventually(enough)


async def deploy(world: World, replicas: int, **spec: Any) -> None:
    body = selecting("web", replicas=replicas, template=template("web", **spec))
    await client.AppsV1Api(world.api).create_namespaced_deployment("default", body)


async def unschedulable(world: World, name: str) -> str:
    async def message() -> str:
        pod = await world.core.read_namespaced_pod(name, "default")
        found = [c for c in pod.status.conditions or () if c.type == "PodScheduled" and c.reason == "Unschedulable"]
        return str(found[0].message) if found else ""

    return await eventually(message)


async def eventually_unschedulable(world: World, name: str, expected: str) -> None:
    """A node is still tainted for a moment after it turned Ready; the pod is tried again when that ends."""

    async def said() -> bool:
        return await unschedulable(world, name) == expected

    await eventually(said)


async def a_pod(world: World, name: str, **spec: Any) -> None:
    await world.core.create_namespaced_pod("default", template("lone", **spec) | {"metadata": {"name": name}})


async def test_an_evicted_pod_is_replaced_elsewhere(world: World) -> None:
    for number in (1, 2):
        await world.ready_node(number)
    await deploy(world, 4)
    pods = await running(world, "web", 4)
    await world.core.patch_node("pool-1", {"spec": {"unschedulable": True}})
    for pod in pods:
        if pod.spec.node_name == "pool-1":
            body = {"metadata": {"name": pod.metadata.name}}
            await world.core.create_namespaced_pod_eviction(pod.metadata.name, "default", body)

    async def moved() -> bool:
        return {p.spec.node_name for p in await running(world, "web", 4)} == {"pool-2"}

    await eventually(moved)


async def test_a_new_template_rolls_out_within_its_budget(world: World) -> None:
    await world.ready_node(1)
    await deploy(world, 4)
    await running(world, "web", 4)
    apps = client.AppsV1Api(world.api)
    changed = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}}}
    await apps.patch_namespaced_deployment("web", "default", changed)

    async def done() -> bool:
        pods = [p for p in await pods_of(world, "web") if not p.metadata.deletion_timestamp]
        available = sum(any(c.type == "Ready" and c.status == "True" for c in p.status.conditions or ()) for p in pods)
        assert len(pods) <= 5
        assert available >= 3
        return len(pods) == 4 and all(p.spec.containers[0].image == "i:2" for p in pods)

    await eventually(done)


async def test_daemon_pods_are_on_every_node_cordoned_ones_too(world: World) -> None:
    await world.ready_node(1)
    await world.core.patch_node("pool-1", {"spec": {"unschedulable": True}})
    body = selecting("agent", template=template("agent"))
    await client.AppsV1Api(world.api).create_namespaced_daemon_set("default", body)
    await running(world, "agent", 1)
    await world.ready_node(2)
    assert {p.spec.node_name for p in await running(world, "agent", 2)} == {"pool-1", "pool-2"}


async def test_a_job_runs_to_its_end_once(world: World) -> None:
    await world.ready_node(1)
    batch = client.BatchV1Api(world.api)
    body = {"metadata": {"name": "j"}, "spec": {"completions": 2, "template": template("j", restartPolicy="Never")}}
    await batch.create_namespaced_job("default", body)

    async def complete() -> bool:
        job = await batch.read_namespaced_job("j", "default")
        return any(c.type == "Complete" and c.status == "True" for c in job.status.conditions or ())

    await eventually(complete)
    job = await batch.read_namespaced_job("j", "default")
    assert job.status.succeeded == 2
    assert [p.status.phase for p in await pods_of(world, "j")] == ["Succeeded", "Succeeded"]


async def test_deleting_a_deployment_deletes_its_pods(world: World) -> None:
    await world.ready_node(1)
    await deploy(world, 2)
    await running(world, "web", 2)
    await client.AppsV1Api(world.api).delete_namespaced_deployment("web", "default")

    async def gone() -> bool:
        return not await pods_of(world, "web")

    await eventually(gone)


async def test_without_nodes_pods_say_so(world: World) -> None:
    await a_pod(world, "p")
    assert await unschedulable(world, "p") == "no nodes available to schedule pods"


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"nodeSelector": {"pool": "x"}}, "1 node(s) didn't match Pod's node affinity/selector"),
        (
            {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "64"}}}]},
            "1 Insufficient cpu",
        ),
    ],
)
async def test_a_pod_that_fits_nowhere_says_why(world: World, spec: dict[str, Any], reason: str) -> None:
    await world.ready_node(1)
    await a_pod(world, "p", **spec)
    without = "0/1 nodes are available"
    preemption = f"{without}: 1 Preemption is not helpful for scheduling."
    await eventually_unschedulable(
        world, "p", f"{without}: {reason}. no new claims to deallocate, preemption: {preemption}"
    )


async def test_taints_keep_pods_away_that_do_not_tolerate_them(world: World) -> None:
    await world.ready_node(1, **{"node-taint": ["dedicated=db:NoSchedule"]})
    await a_pod(world, "p")
    assert "1 node(s) had untolerated taint(s)" in await unschedulable(world, "p")
    await a_pod(world, "q", tolerations=[{"key": "dedicated", "operator": "Exists"}])

    async def placed() -> Any:
        return (await world.core.read_namespaced_pod("q", "default")).spec.node_name

    assert await eventually(placed) == "pool-1"


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (
            {
                "affinity": {
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "topologyKey": "kubernetes.io/hostname",
                                "labelSelector": {"matchLabels": {"app": "web"}},
                            }
                        ]
                    }
                }
            },
            "didn't match pod anti-affinity rules",
        ),
        (
            {"containers": [{"name": "c", "image": "i:1", "ports": [{"containerPort": 80, "hostPort": 80}]}]},
            "didn't have free ports for the requested pod ports",
        ),
    ],
)
async def test_one_pod_a_node(world: World, spec: dict[str, Any], reason: str) -> None:
    for number in (1, 2):
        await world.ready_node(number)
    await deploy(world, 3, **spec)

    async def refused() -> list[Any]:
        pods = await pods_of(world, "web")
        if len(pods) != 3:
            return []
        return [p for p in pods if any(c.reason == "Unschedulable" for c in p.status.conditions or ())]

    (left,) = await eventually(refused)
    assert f"2 node(s) {reason}" in await unschedulable(world, left.metadata.name)
    await world.ready_node(3)
    assert {p.spec.node_name for p in await running(world, "web", 3)} == {"pool-1", "pool-2", "pool-3"}


async def test_pods_spread_over_host_names(world: World) -> None:
    for number in (1, 2, 3):
        await world.ready_node(number)
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    await deploy(world, 6, topologySpreadConstraints=[spread])
    nodes = [p.spec.node_name for p in await running(world, "web", 6)]
    assert sorted(nodes) == sorted(2 * ["pool-1", "pool-2", "pool-3"])


async def test_pods_of_a_deleted_node_are_collected(world: World) -> None:
    await world.ready_node(1)
    await deploy(world, 1)
    (lost,) = await running(world, "web", 1)
    await world.nodes.gone(1001)
    await world.core.delete_node("pool-1")
    await world.ready_node(2)

    async def replaced() -> bool:
        (found,) = await running(world, "web", 1)
        return bool(found.metadata.uid != lost.metadata.uid and found.spec.node_name == "pool-2")

    await eventually(replaced, COLLECTED_S)


async def test_pods_leave_a_tainted_node_when_their_time_is_over(world: World) -> None:
    for number in (1, 2):
        await world.ready_node(number)
    stay = {"key": "maintenance", "operator": "Exists", "effect": "NoExecute"}
    await a_pod(world, "stays", nodeName="pool-1", tolerations=[stay])
    await a_pod(world, "goes-later", nodeName="pool-1", tolerations=[stay | {"tolerationSeconds": 1}])
    await a_pod(world, "goes", nodeName="pool-1")
    await world.core.patch_node("pool-1", {"spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]}})

    async def names() -> list[str]:
        return [p.metadata.name for p in (await world.core.list_namespaced_pod("default")).items]

    async def first_is_gone() -> bool:
        return "goes" not in await names()

    async def both_are_gone() -> bool:
        return await names() == ["stays"]

    await eventually(first_is_gone)
    assert "goes-later" in await names()
    await eventually(both_are_gone)
