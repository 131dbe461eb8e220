"""The pool's watch tells what changed, proves absence before it says so, and says nothing of what it cannot see."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from activities.listing import ListedServer, Listing, ServerListings
from activities.watch import WatchActivities
from core import calls
from core.calls import Health, MachineKnown, MachineSeen, PoolObservation, ProjectRef
from core.machine import Presence
from sandbox.hollow import Fault
from sandbox.kubernetes.faults import ApiFault
from tests.cluster_world import eventually
from tests.integration.activities_kubernetes.kube_stage import CLUSTER, Stage

PROJECT = ProjectRef(organization="acme", credential="hetzner")
SERVERS = {1001: ListedServer(1001, "pool-1", "running", {}), 1002: ListedServer(1002, "pool-2", "running", {})}


class Listed:
    """A project's listing, as a test wants it."""

    def __init__(self) -> None:
        self.listing = Listing(health=Health.VALID, servers=SERVERS, generation=1)

    async def look(self, project: ProjectRef) -> Listing:
        return self.listing

    def next(self, **changes: Any) -> None:
        """The listing after this one."""
        self.listing = replace(self.listing, generation=self.listing.generation + 1, **changes)


class Watcher:
    """A pool that watches its machines, as its workflow does: what was told is what is known."""

    def __init__(self, stage: Stage, *numbers: int) -> None:
        self.stage, self.listed = stage, Listed()
        self.activities = WatchActivities(stage.caches, cast(ServerListings, self.listed))
        self.known = {f"pool-{n}": MachineKnown(server_id=1000 + n, node_uid=None, digest="") for n in numbers}
        self.labels: dict[str, str] = {}
        self.cloud = self.api = Health.VALID

    async def look(self, seconds: float = 10.0) -> PoolObservation:
        """One watch, at most so long."""
        call = calls.WatchPool(
            project=PROJECT,
            cluster=CLUSTER,
            pool_id="pool-id",
            machines=self.known,
            labels=self.labels,
            taints=[],
            cloud=self.cloud,
            api=self.api,
            wait_s=seconds,
        )
        seen = await asyncio.wait_for(self.stage.run(self.activities.watch_pool, call), seconds + 10)
        for name, sight in seen.machines.items():
            known = self.known[name]
            uid = sight.node_uid or known.node_uid
            self.known[name] = known.model_copy(update={"digest": sight.digest, "node_uid": uid})
        self.cloud, self.api = seen.cloud, seen.api
        return seen

    async def until(self, name: str, wanted: Callable[[MachineSeen], bool]) -> MachineSeen:
        """Watch until the machine is seen as wanted."""

        async def told() -> MachineSeen | None:
            sight = (await self.look(1.0)).machines.get(name)
            return sight if sight is not None and wanted(sight) else None

        found = await eventually(cast(Callable[[], Awaitable[MachineSeen]], told), 20)
        return found


async def test_what_is_told_once_is_not_told_again(stage: Stage) -> None:
    await stage.world.ready_node(1)
    watcher = Watcher(stage, 1)
    sight = (await watcher.look()).machines["pool-1"]
    assert (sight.server, sight.node, sight.ready) == (Presence.PRESENT, Presence.PRESENT, True)
    await watcher.look(0.3)
    assert (await watcher.look(0.3)).machines == {}


async def test_a_changed_label_is_told_as_out_of_step_and_only_for_that_node(stage: Stage) -> None:
    for number in (1, 2):
        await stage.world.ready_node(number)
    watcher = Watcher(stage, 1, 2)
    await stage.world.core.patch_node("pool-1", {"metadata": {"labels": {"workload": "batch"}}})
    owned = {"pools.lbr.dev/owned-labels": "workload"}
    for name in ("pool-1", "pool-2"):
        change = {"metadata": {"labels": {"workload": "batch"}, "annotations": owned}}
        await stage.world.core.patch_node(name, change)
    watcher.labels = {"workload": "batch"}
    await watcher.until("pool-2", lambda sight: sight.in_step)
    await watcher.look(0.3)
    await stage.world.core.patch_node("pool-1", {"metadata": {"labels": {"workload": "web"}}})
    seen = await watcher.look()
    assert {name: sight.in_step for name, sight in seen.machines.items()} == {"pool-1": False}


async def test_a_node_that_is_no_longer_ready_is_told_with_what_it_waits_for(stage: Stage) -> None:
    await stage.world.ready_node(1)
    watcher = Watcher(stage, 1)
    await watcher.look()
    node = stage.world.nodes.get("pool-1")
    assert node is not None
    await node.set_fault(Fault.NO_NETWORK)
    sight = await watcher.until("pool-1", lambda sight: sight.ready is False)
    assert "CNI" in sight.waiting_for


async def test_a_deleted_node_and_one_made_anew_under_its_name_are_absent(stage: Stage) -> None:
    await stage.world.ready_node(1)
    watcher = Watcher(stage, 1)
    await watcher.look()
    await stage.world.nodes.gone(1001)
    await stage.world.core.delete_node("pool-1")
    assert (await watcher.until("pool-1", lambda sight: sight.node is Presence.ABSENT)).ready is False
    await stage.world.core.create_node({"metadata": {"name": "pool-1"}})
    assert (await watcher.look(0.5)).machines == {}


async def test_a_server_is_absent_only_when_two_whole_listings_lack_it(stage: Stage) -> None:
    await stage.world.ready_node(1)
    watcher = Watcher(stage, 1)
    await watcher.look()
    watcher.listed.next(servers={})
    sight = await watcher.until("pool-1", lambda sight: True)
    assert sight.server is Presence.UNKNOWN
    watcher.listed.next(health=Health.UNKNOWN)
    seen = await watcher.look()
    assert (seen.cloud, seen.machines) == (Health.UNKNOWN, {})
    watcher.listed.next(health=Health.VALID)
    assert (await watcher.look()).machines["pool-1"].server is Presence.ABSENT
    watcher.listed.next(servers=SERVERS)
    assert (await watcher.until("pool-1", lambda sight: True)).server is Presence.PRESENT


async def test_a_refused_token_is_told_as_such(stage: Stage) -> None:
    watcher = Watcher(stage)
    watcher.listed.next(health=Health.INVALID, refused=True, message="the token is not valid")
    seen = await watcher.look()
    assert (seen.cloud, seen.refused, seen.message) == (Health.INVALID, True, "the token is not valid")


@pytest.mark.simulator
async def test_while_the_cluster_does_not_answer_no_node_is_judged(stage: Stage) -> None:
    await stage.world.ready_node(1)
    watcher = Watcher(stage, 1)
    await watcher.look()
    stage.world.cluster.faults.add(ApiFault("GET", "/api/v1/nodes", 503, count=1000))
    stage.world.cluster.hub.cut()
    sight = await watcher.until("pool-1", lambda sight: sight.node is Presence.UNKNOWN)
    assert (watcher.api, sight.ready) == (Health.UNKNOWN, None)
    stage.world.cluster.faults.clear()
    back = await watcher.until("pool-1", lambda sight: sight.node is Presence.PRESENT)
    assert (watcher.api, back.ready) == (Health.VALID, True)


@pytest.mark.simulator
async def test_one_broken_connection_and_a_forgotten_history_are_no_news(stage: Stage) -> None:
    await stage.world.ready_node(1)
    watcher = Watcher(stage, 1)
    await watcher.look()
    await watcher.look(0.3)
    watching = asyncio.create_task(watcher.look(20))
    stage.world.compact()
    stage.world.cluster.hub.cut()
    await eventually(lambda: _listed(stage, 2))
    assert not watching.done()
    await stage.world.core.patch_node("pool-1", {"metadata": {"annotations": {"pools.lbr.dev/owned-labels": "x"}}})
    seen = await watching
    assert (seen.api, seen.machines["pool-1"].in_step) == (Health.VALID, False)


async def _listed(stage: Stage, times: int) -> bool:
    asked = [r for r in stage.world.cluster.requests if r.path == "/api/v1/nodes" and "watch" not in r.query]
    return len([r for r in asked if r.user == "kubernetes-admin" and r.query == "limit=500"]) >= times


async def test_a_refused_kubeconfig_is_told_and_a_new_one_is_used_at_once(stage: Stage) -> None:
    await stage.world.ready_node(1)
    watcher, good = Watcher(stage, 1), stage.vault.kubeconfig
    await watcher.look()
    for kubeconfig, health in (
        (good.replace(stage.world.token, "stale"), Health.INVALID),
        (good, Health.VALID),
    ):
        stage.vault.kubeconfig, stage.vault.version = kubeconfig, stage.vault.version + 1
        await stage.apis.get(CLUSTER)  # any other activity of the worker

        async def told(wanted: Health = health) -> bool:
            await watcher.look(1.0)
            return watcher.api is wanted

        await eventually(told, 20)
