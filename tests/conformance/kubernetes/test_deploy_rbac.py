"""The rights that deploy/rbac.yaml grants are those that registering a cluster asks for and a worker uses."""

from __future__ import annotations

from pathlib import Path

import yaml
from temporalio.client import Client
from temporalio.testing import ActivityEnvironment

from activities.cluster_api import ClusterApis
from activities.cluster_probe import RIGHTS
from activities.cluster_view import ClusterViews
from activities.clusters import ClusterActivities
from activities.node_cache import NodeCaches
from activities.vault import Vault
from core.calls import ClusterProbe, Health, ProbeCluster
from core.sealing import PlatformKey
from tests.cluster_world import World, eventually
from tests.integration.activities_kubernetes.kube_stage import CLUSTER, staged

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
    found = await probe(world, await account_token(world))
    assert (found.health, found.message) == (Health.VALID, "")


async def account_token(world: World) -> str:
    """A token of the account that the manifest makes."""
    account = next(each for each in yaml.safe_load_all(MANIFEST.read_text()) if each["kind"] == "ServiceAccount")
    meta = account["metadata"]
    return (await world.run("create", "token", meta["name"], "--namespace", meta["namespace"])).strip()


async def test_with_the_manifest_all_is_seen_that_decisions_rest_on(world: World) -> None:
    """Every kind is listed and watched with these rights alone."""
    await world.run("apply", "-f", str(MANIFEST))
    async with staged(world) as stage:
        stage.vault.kubeconfig = stage.vault.kubeconfig.replace(world.token, await account_token(world))
        views = ClusterViews(stage.apis, stage.caches)

        async def synced() -> bool:
            return views.of(CLUSTER).synced

        try:
            await eventually(synced, 20)
            view = views.of(CLUSTER)
            await view.wait(view.urgent, view.generation, 1.0, 1.0)  # a watch that is refused is told by then
            assert (view.health, view.message) == (Health.VALID, "")
        finally:
            await views.close()


def test_the_manifest_grants_no_more_than_registering_asks_for() -> None:
    """But for the one object that tells which cluster it is, which the probe reads and does not ask about."""
    granted = {
        (verb, resource, group, item["metadata"].get("namespace", ""))
        for item in yaml.safe_load_all(MANIFEST.read_text())
        for rule in item.get("rules", [])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    asked = {(right.verb, right.resource, right.group, right.namespace) for right in RIGHTS}
    assert granted - asked == {("get", "namespaces", "", "")}
    assert asked <= granted
