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
from core.calls import ClusterProbe, Health, JoinMethod, ProbeCluster
from core.sealing import PlatformKey
from tests.cluster_world import World

MANIFEST = Path(__file__).parents[3] / "deploy/rbac.yaml"
# The simulated cluster hands out no service account tokens: the same roles are bound to whoever has this group.
GROUP = "system:bootstrappers"


async def probe(world: World, token: str) -> ClusterProbe:
    """What registering the cluster with that token finds."""
    kubeconfig = yaml.safe_load(world.kubeconfig.read_text())
    kubeconfig["users"] = [{"name": each["name"], "user": {"token": token}} for each in kubeconfig["users"]]
    key = PlatformKey.generate()
    sealed = key.public.seal(yaml.safe_dump(kubeconfig), "acme", "kubeconfig", "prod", "1")
    vault = Vault(await Client.connect("127.0.0.1:1", lazy=True), key)
    apis = ClusterApis(vault)
    activities = ClusterActivities(apis, vault, NodeCaches(apis))
    call = ProbeCluster(organization="acme", cluster="prod", sealed=sealed, api_endpoint=None, join=JoinMethod.K3S)
    found: ClusterProbe = await ActivityEnvironment().run(activities.probe_cluster, call)
    await apis.close()
    return found


async def test_the_manifest_grants_what_registering_asks_for(world: World) -> None:
    """Without it the probe is refused, with it the cluster is Valid."""
    token = await world.bootstrap_token()
    assert (await probe(world, token)).health is Health.INVALID
    await world.run("apply", "-f", str(MANIFEST))
    for item in yaml.safe_load_all(MANIFEST.read_text()):
        if item["kind"].endswith("Binding"):
            item["metadata"]["name"] += "-group"
            item["subjects"] = [{"kind": "Group", "name": GROUP, "apiGroup": "rbac.authorization.k8s.io"}]
            await world.run("apply", "-f", "-", stdin=yaml.safe_dump(item))
    found = await probe(world, token)
    assert (found.health, found.message) == (Health.VALID, "")
