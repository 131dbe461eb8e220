"""A restarted sandbox goes on where it was: objects, versions, tokens, and nodes that need not join again."""

from pathlib import Path

import pytest

from sandbox.clock import RealClock
from sandbox.kubernetes import Cluster
from tests.cluster_world import eventually, running_world


async def test_a_cluster_goes_on_after_a_restart(tmp_path: Path) -> None:
    async with running_world(tmp_path) as world:
        node = await world.ready_node(1)
        await world.core.delete_namespaced_secret("bootstrap-token-000001", "kube-system")
        token, version = world.cluster.admin_token, world.cluster.store.version
        world.cluster.version = "v1.35.0+k3s1"
    async with running_world(tmp_path) as world:
        assert world.cluster.admin_token == token
        assert world.cluster.version == "v1.35.0+k3s1"
        assert world.cluster.store.version >= version
        again = await eventually(lambda: world.node_if("pool-1", "True"))
        assert again.metadata.uid == node.metadata.uid
        await world.core.patch_node("pool-1", {"spec": {"unschedulable": True}})
        before = (await world.core.read_node("pool-1")).metadata.resource_version
        assert int(before) > version


async def test_the_version_must_be_one(tmp_path: Path) -> None:
    cluster = Cluster(RealClock(), tmp_path)
    with pytest.raises(ValueError, match="not a Kubernetes version"):
        cluster.version = "1.34"
