"""The watch beats while the cloud is slow, tells an absence once, and outlives a kubeconfig that is not whole."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from activities.listing import ListedServer, Listing, ServerListings
from activities.watch import WatchActivities
from core.calls import Health, MachineKnown, MachineSeen, PoolObservation, ProjectRef, WatchPool
from core.machine import Presence
from tests.cluster_world import eventually
from tests.integration.activities_kubernetes.kube_stage import CLUSTER, Stage

PROJECT = ProjectRef(organization="acme", credential="main")
BEAT_WITHIN_S = 5.0  # a third of the heartbeat timeout


class Cloud:
    """A project whose listing is read anew at each look, and answers late where told so."""

    def __init__(self) -> None:
        self.servers = {1001: ListedServer(1001, "pool-1", "running", {})}
        self.delay_s = 0.0
        self._generation = 0

    async def look(self, project: ProjectRef) -> Listing:
        """The servers of this moment."""
        del project
        await asyncio.sleep(self.delay_s)
        self._generation += 1
        return Listing(Health.VALID, False, "", dict(self.servers), None, self._generation)


class Pool:
    """A pool of one machine, and what its workflow knows of it: what it was told last."""

    def __init__(self, stage: Stage, cloud: Cloud, uid: str) -> None:
        self.stage = stage
        self.told: MachineSeen | None = None
        self.api = Health.VALID
        self._uid = uid
        self._activities = WatchActivities(stage.caches, cast("ServerListings", cloud))

    async def watch(self, wait_s: float) -> PoolObservation:
        """One watch, by what is known."""
        digest = self.told.digest if self.told else ""
        call = WatchPool(
            project=PROJECT,
            cluster=CLUSTER,
            pool_id="p1",
            machines={"pool-1": MachineKnown(server_id=1001, node_uid=self._uid, digest=digest)},
            labels={},
            taints=[],
            cloud=Health.VALID,
            api=self.api,
            wait_s=wait_s,
        )
        seen = await self.stage.run(self._activities.watch_pool, call)
        self.told, self.api = seen.machines.get("pool-1", self.told), seen.api
        return seen

    async def until(self, *, server: Presence = Presence.PRESENT, node: Presence = Presence.PRESENT) -> None:
        """Watch on until this was told."""

        async def was_told() -> bool:
            await self.watch(wait_s=1.0)
            return self.told is not None and (self.told.server, self.told.node) == (server, node)

        await eventually(was_told, 20.0)


@pytest.fixture
def cloud() -> Cloud:
    """The cloud of the pool's project."""
    return Cloud()


@pytest.fixture
async def pool(stage: Stage, cloud: Cloud) -> Pool:
    """A pool whose one machine is known to be there."""
    pool = Pool(stage, cloud, (await stage.world.ready_node(1)).metadata.uid)
    await pool.until()
    return pool


async def test_a_slow_cloud_does_not_silence_the_heartbeat(pool: Pool, cloud: Cloud) -> None:
    cloud.delay_s = BEAT_WITHIN_S + 1
    going = asyncio.create_task(pool.watch(wait_s=0.1))
    before = len(pool.stage.beats) + 1  # the one that a watch begins with

    async def beaten() -> bool:
        return len(pool.stage.beats) > before

    await eventually(beaten, BEAT_WITHIN_S)
    await going


async def test_an_absence_that_is_known_is_not_told_again(pool: Pool, cloud: Cloud) -> None:
    cloud.servers.clear()
    await pool.until(server=Presence.ABSENT)
    for _ in range(2):
        assert (await pool.watch(wait_s=0.1)).machines == {}


@pytest.mark.simulator
async def test_a_kubeconfig_that_is_not_whole_is_told_and_a_whole_one_mends_it(pool: Pool) -> None:
    vault, whole = pool.stage.vault, pool.stage.vault.kubeconfig
    broken = whole.replace('"current-context": "', '"current-context": "not-')
    assert broken != whole
    vault.kubeconfig, vault.version = broken, 2
    pool.stage.world.cluster.hub.cut()
    await pool.until(node=Presence.UNKNOWN)
    vault.kubeconfig, vault.version = whole, 3
    await pool.until()
