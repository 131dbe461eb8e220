"""The rights that deploy/rbac.yaml grants are those that registering a cluster asks for."""

from __future__ import annotations

from pathlib import Path

import yaml
from temporalio.client import Client
from temporalio.testing import ActivityEnvironment

from activities.cluster_api import ClusterApis
from activities.clusters import ClusterActivities
from activities.node_cache import NodeCaches
from activities.vault import Vault
from core.calls import ClusterProbe, Health, ProbeCluster
from core.sealing import PlatformKey
from tests.cluster_world import World

MANIFEST = Path(__file__).parents[3] / "deploy/rbac.yaml"


async def probe(world: World, token: str) -> ClusterProbe:
    """What registering the cluster with that token finds."""
    kubeconfig = yaml.safe_load(world.kubeconfig.read_text())
    kubeconfig["users"] = [{"name": each["name"], "user": {"token": token}} for each in kubeconfig["users"]]
    key = PlatformKey.generate()
    sealed = key.public.seal(yaml.safe_dump(kubeconfig), "acme", "kubeconfig", "prod", "1")
    vault = Vault(await Client.connect("127.0.0.1:1", lazy=True), key)
    apis = ClusterApis(vault)
    activities = ClusterActivities(apis, vault, NodeCaches(apis))
    call = ProbeCluster(organization="acme", cluster="prod", sealed=sealed, api_endpoint=None, join=world.join)
    found: ClusterProbe = await ActivityEnvironment().run(activities.probe_cluster, call)
    await apis.close()
    return found


async def test_the_manifest_grants_what_registering_asks_for(world: World) -> None:
    """Without it the probe is refused, with it the cluster is Valid."""
    without = await world.run("create", "token", "default")
    assert (await probe(world, without.strip())).health is Health.INVALID
    await world.run("apply", "-f", str(MANIFEST))
    account = next(each for each in yaml.safe_load_all(MANIFEST.read_text()) if each["kind"] == "ServiceAccount")
    meta = account["metadata"]
    token = await world.run("create", "token", meta["name"], "--namespace", meta["namespace"])
    found = await probe(world, token.strip())
    assert (found.health, found.message) == (Health.VALID, "")
