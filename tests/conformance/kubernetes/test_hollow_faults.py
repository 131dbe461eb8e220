"""Hollow nodes misbehave as machines do, and the cluster's controllers take it as they would."""

from datetime import timedelta
from typing import Any

import aiohttp
import pytest
from kubernetes.aio import client

from sandbox.hollow import Fault
from sandbox.hollow.admin import create_app
from sandbox.hollow.node import HollowNode
from sandbox.kubernetes import serve
from tests.cluster_world import World, eventually


def hollow(world: World, name: str) -> HollowNode:
    node = world.nodes.get(name)
    assert node is not None
    return node


def taints(node: Any) -> set[tuple[str, str]]:
    return {(t.key.removeprefix("node.kubernetes.io/"), t.effect) for t in node.spec.taints or ()}


def ready_of(node: Any) -> Any:
    return next(c for c in node.status.conditions if c.type == "Ready")


@pytest.mark.parametrize("fault", [Fault.FROZEN, Fault.PARTITIONED])
async def test_a_silent_node_becomes_unknown_and_returns(world: World, fault: Fault) -> None:
    await world.ready_node(1)
    await world.ready_node(2)
    await hollow(world, "pool-1").set_fault(fault)
    node = await eventually(lambda: world.node_if("pool-1", "Unknown"))
    assert ready_of(node).reason == "NodeStatusUnknown"

    async def tainted() -> bool:
        found = taints(await world.core.read_node("pool-1"))
        return {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")} <= found

    await eventually(tainted)
    await hollow(world, "pool-1").set_fault(None)
    await eventually(lambda: world.node_if("pool-1", "True"))

    async def clean() -> bool:
        return not taints(await world.core.read_node("pool-1"))

    await eventually(clean)


async def test_a_node_that_works_corrects_what_others_say_of_it(world: World) -> None:
    """As after an outage of the API server, when controllers saw no sign of life."""
    await world.ready_node(1)
    said = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "stopped posting"}
    await world.core.patch_node_status("pool-1", {"status": {"conditions": [said]}})
    await eventually(lambda: world.node_if("pool-1", "True"))


async def test_with_all_nodes_unready_no_pod_is_driven_away(world: World) -> None:
    await world.ready_node(1)
    await hollow(world, "pool-1").set_fault(Fault.FROZEN)
    await eventually(lambda: world.node_if("pool-1", "Unknown"))

    async def settled() -> bool:
        return taints(await world.core.read_node("pool-1")) == {("unreachable", "NoSchedule")}

    await eventually(settled)


async def test_an_unhealthy_kubelet_reports_not_ready(world: World) -> None:
    await world.ready_node(1)
    await hollow(world, "pool-1").set_fault(Fault.NOT_READY)
    node = await eventually(lambda: world.node_if("pool-1", "False"))
    assert ready_of(node).reason == "KubeletNotReady"


async def test_a_missing_network_keeps_a_node_from_ready(world: World) -> None:
    world.nodes.expect(Fault.NO_NETWORK)
    world.nodes.boot(world.server(1, await world.bootstrap_token()))
    node = await eventually(lambda: world.node_if("pool-1", "False"))
    assert "cni plugin not initialized" in ready_of(node).message
    await hollow(world, "pool-1").set_fault(None)
    await eventually(lambda: world.node_if("pool-1", "True"))


@pytest.mark.parametrize("fault", [Fault.NEVER_BOOTS, Fault.NEVER_JOINS])
async def test_a_server_that_never_appears_can_be_healed(world: World, fault: Fault) -> None:
    world.nodes.expect(fault, pattern="pool-1")
    token = await world.bootstrap_token()
    world.nodes.boot(world.server(1, token))
    world.nodes.boot(world.server(2, token))
    await eventually(lambda: world.node_if("pool-2", "True"))
    assert [n.metadata.name for n in (await world.core.list_node()).items] == ["pool-2"]
    await hollow(world, "pool-1").set_fault(None)
    await eventually(lambda: world.node_if("pool-1", "True"))


async def test_a_clock_far_off_keeps_a_node_from_joining(world: World) -> None:
    world.nodes.expect(Fault.CLOCK_SKEW, skew=timedelta(hours=-3))
    world.nodes.boot(world.server(1, await world.bootstrap_token()))

    async def stuck() -> bool:
        return "not yet valid" in hollow(world, "pool-1").trouble

    await eventually(stuck)
    assert (await world.core.list_node()).items == []


async def test_a_clock_that_drifts_later_does_not_make_a_node_unready(world: World) -> None:
    await world.ready_node(1)
    before = await world.core.read_node("pool-1")
    await hollow(world, "pool-1").set_fault(Fault.CLOCK_SKEW, timedelta(hours=-3))

    async def renewed() -> bool:
        lease = await client.CoordinationV1Api(world.api).read_namespaced_lease("pool-1", "kube-node-lease")
        return bool(lease.spec.renew_time < before.metadata.creation_timestamp - timedelta(hours=2))

    await eventually(renewed)
    assert await world.node_if("pool-1", "True")


async def test_a_rebooted_node_comes_back_with_another_boot_id(world: World) -> None:
    before = await world.ready_node(1)
    await hollow(world, "pool-1").set_fault(Fault.REBOOTED)

    async def rebooted() -> Any:
        node = await world.node_if("pool-1", "True")
        return node and node.status.node_info.boot_id != before.status.node_info.boot_id

    await eventually(rebooted)


async def test_a_flapping_node_goes_back_and_forth(world: World) -> None:
    await world.ready_node(1)
    await hollow(world, "pool-1").set_fault(Fault.FLAPPING)
    for ready in ("False", "True", "False"):
        await eventually(lambda ready=ready: world.node_if("pool-1", ready))  # type: ignore[misc]


async def test_a_deleted_node_object_does_not_come_back(world: World) -> None:
    await world.ready_node(1)
    await world.core.delete_node("pool-1")

    async def refused() -> bool:
        return hollow(world, "pool-1").trouble.startswith("404")

    await eventually(refused)
    assert (await world.core.list_node()).items == []
    leases = await client.CoordinationV1Api(world.api).list_namespaced_lease("kube-node-lease")
    assert leases.items == []


async def test_a_server_switched_off_comes_back_without_a_token(world: World) -> None:
    await world.ready_node(1)
    await world.core.delete_namespaced_secret("bootstrap-token-000001", "kube-system")
    server = hollow(world, "pool-1").server
    await world.nodes.stopped(server.server_id)
    await eventually(lambda: world.node_if("pool-1", "Unknown"))
    world.nodes.boot(server)
    await eventually(lambda: world.node_if("pool-1", "True"))


async def test_faults_can_be_set_over_http(world: World) -> None:
    await world.ready_node(1)
    async with serve(create_app(world.nodes)) as base, aiohttp.ClientSession() as session:
        url = f"{base}/_sandbox/hollow/nodes"
        async with session.put(f"{url}/pool-1/fault", json={"fault": "frozen"}) as answer:
            assert (answer.status, (await answer.json())["fault"]) == (200, "frozen")
        async with session.put(f"{url}/pool-1/fault", json={"fault": "bored"}) as answer:
            assert answer.status == 400
        async with session.delete(f"{url}/pool-1/fault") as answer:
            assert (await answer.json())["fault"] is None
        async with session.put(f"{url}/nobody/fault", json={"fault": "frozen"}) as answer:
            assert answer.status == 404
