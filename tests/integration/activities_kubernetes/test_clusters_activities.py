"""A cluster is judged before it is registered, given its manifest once, and watched for what lists show of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from temporalio.exceptions import ApplicationError

from activities.clusters import AGAIN_S, ClusterActivities
from activities.node_cache import NodeCaches
from core import calls
from core.calls import ClusterProbe, ClusterSeen, Health, JoinMethod
from sandbox.kubernetes.faults import ApiFault
from tests.cluster_world import eventually
from tests.integration.activities_kubernetes.kube_stage import CLUSTER, Stage

RIGHTS = Path(__file__).parents[3] / "deploy/rbac.yaml"


def activities(stage: Stage, poll_s: float = 0.2) -> ClusterActivities:
    return ClusterActivities(stage.apis, stage.trusted, stage.caches, poll_s)


async def probe(stage: Stage, join: JoinMethod | None = None, endpoint: str | None = None) -> ClusterProbe:
    join = join or stage.world.join
    call = calls.ProbeCluster(
        organization="acme", cluster="prod", sealed=stage.vault.sealed, api_endpoint=endpoint, join=join
    )
    return await stage.run(activities(stage).probe_cluster, call)


async def test_a_good_cluster_says_which_it_is_and_where_nodes_reach_it(stage: Stage) -> None:
    found = await probe(stage)
    assert (found.health, found.version, found.api_endpoint) == (Health.VALID, stage.world.version, stage.world.url)
    assert found.cluster_id == (await stage.world.core.read_namespace("kube-system")).metadata.uid
    assert (await probe(stage, endpoint="https://10.0.0.1:6443/")).api_endpoint == "https://10.0.0.1:6443"


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("version", "join", "told"),
    [
        ("v1.34.1", JoinMethod.K3S, "--join kubeadm"),
        ("v1.34.1+rke2r1", JoinMethod.K3S, "--join rke2"),
        ("v1.34.1+k3s1", JoinMethod.KUBEADM, "--join k3s"),
        ("v1.30.4", JoinMethod.KUBEADM, "from v1.31 on"),
        ("v1.34.1+rke2r1", JoinMethod.RKE2, ""),
        ("v1.34.1", JoinMethod.KUBEADM, ""),
    ],
)
async def test_a_join_method_that_is_not_the_cluster_s_is_refused(
    stage: Stage, version: str, join: JoinMethod, told: str
) -> None:
    stage.world.cluster.version = version
    found = await probe(stage, join)
    assert found.health is (Health.INVALID if told else Health.VALID)
    assert told in found.message


async def test_a_kubeconfig_that_is_refused_or_broken_is_invalid_and_silence_is_unknown(stage: Stage) -> None:
    good = stage.vault.kubeconfig
    stage.vault.kubeconfig = good.replace(stage.world.token, "stale")
    refused = await probe(stage)
    assert (refused.health, refused.reason) == (Health.INVALID, "Unauthorized")
    stage.vault.kubeconfig = "contexts: []"
    assert (await probe(stage)).health is Health.INVALID
    stage.vault.kubeconfig = good.replace(stage.world.url, "https://127.0.0.1:1")
    silent = await probe(stage)
    assert silent.health is Health.UNKNOWN
    assert "no connection" in silent.message


@pytest.mark.parametrize(
    "endpoint",
    [
        "10.0.0.1:6443",
        "https://10.0.0.1:port",
        "https://rancher.example/k8s/clusters/c-1",
        "ftp://10.0.0.1",
        "https://",
    ],
)
async def test_an_endpoint_that_leads_no_node_anywhere_is_refused(stage: Stage, endpoint: str) -> None:
    found = await probe(stage, endpoint=endpoint)
    assert (found.health, found.reason) == (Health.INVALID, "ApiEndpoint")
    assert "--api-endpoint" in found.message


async def with_rights(stage: Stage, *, without: str = "") -> None:
    """Let the stored kubeconfig be that of the documented service account, with one verb on nodes taken away."""
    documents = list(yaml.safe_load_all(RIGHTS.read_text()))
    for document in documents:
        for rule in document.get("rules", []):
            if rule["resources"] == ["nodes"]:
                rule["verbs"] = [verb for verb in rule["verbs"] if verb != without]
    await stage.world.run("apply", "-f", "-", stdin=yaml.safe_dump_all(documents))
    token = (await stage.world.run("create", "token", "node-pools", "-n", "kube-system")).strip()
    stage.vault.kubeconfig = stage.vault.kubeconfig.replace(stage.world.token, token)


async def test_the_documented_rights_are_enough_and_a_missing_one_is_named(stage: Stage) -> None:
    await with_rights(stage)
    assert (await probe(stage)).message == ""
    await with_rights(stage, without="delete")
    found = await probe(stage)
    assert (found.health, found.message) == (Health.INVALID, "the kubeconfig's user may not delete nodes")


async def apply(stage: Stage, manifest: str) -> list[str]:
    call = calls.ApplyManifest(cluster=CLUSTER, sealed=stage.vault.sealed, manifest=manifest)
    return (await stage.run(activities(stage).apply_manifest, call)).objects


MANIFEST = """
apiVersion: v1
kind: ConfigMap
metadata: {name: cni-config, namespace: cni}
data: {mode: vxlan}
---
apiVersion: v1
kind: Namespace
metadata: {name: cni}
---
# nothing but a comment
---
apiVersion: v1
kind: List
items:
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRole
  metadata: {name: cni}
  rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]
"""


async def test_a_manifest_is_applied_whole_and_again_without_harm(stage: Stage) -> None:
    applied = await apply(stage, MANIFEST)
    assert applied == ["Namespace/cni", "ConfigMap/cni-config", "ClusterRole/cni"]
    assert await apply(stage, MANIFEST.replace("vxlan", "wireguard")) == applied
    config = await stage.world.core.read_namespaced_config_map("cni-config", "cni")
    assert config.data == {"mode": "wireguard"}


async def test_what_is_a_date_or_an_equals_sign_to_yaml_alone_arrives_as_text(stage: Stage) -> None:
    await apply(stage, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {day: 2026-12-01, sign: =}}")
    config = await stage.world.core.read_namespaced_config_map("c", "default")
    assert config.data == {"day": "2026-12-01", "sign": "="}


ALIASED = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: &a x, b: *a}}"
LISTED_KIND = "{apiVersion: v1, kind: [ConfigMap], metadata: {name: c}}"


@pytest.mark.parametrize(
    "manifest",
    [
        ALIASED,
        LISTED_KIND,
        "[" * 3000,
        "a: [b",
        "# empty",
        "- 1",
        "kind: ConfigMap",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: '-Bad-'}}",
    ],
)
async def test_a_manifest_that_can_never_be_applied_ends_the_try(stage: Stage, manifest: str) -> None:
    with pytest.raises(ApplicationError) as caught:
        await apply(stage, manifest)
    assert caught.value.non_retryable


async def test_a_kind_that_is_not_served_yet_is_tried_again(stage: Stage) -> None:
    with pytest.raises(ApplicationError, match="Widget") as caught:
        await apply(stage, "{apiVersion: v1, kind: Widget, metadata: {name: w}}")
    assert not caught.value.non_retryable


async def watch(stage: Stage, known: ClusterSeen | None = None, seconds: float = 10) -> ClusterSeen:
    call = calls.WatchCluster(cluster=CLUSTER, known_digest=known.digest if known else "", wait_s=seconds)
    return await asyncio.wait_for(stage.run(activities(stage).watch_cluster, call), seconds + 10)


async def news(stage: Stage, known: ClusterSeen, **wanted: Any) -> ClusterSeen:
    """Watch until the cluster is seen with these values."""

    async def told() -> ClusterSeen | None:
        nonlocal known
        known = await watch(stage, known, 2)
        return known if all(getattr(known, name) == value for name, value in wanted.items()) else None

    found = await eventually(told, 20)
    assert found is not None
    return found


@pytest.mark.simulator
async def test_a_watched_cluster_tells_version_nodes_and_health_when_they_change(stage: Stage) -> None:
    seen = await watch(stage)
    assert (seen.health, seen.version, seen.nodes) == (Health.VALID, "v1.34.1+k3s1", 0)
    assert (await watch(stage, seen, 0.5)).digest == seen.digest
    await stage.world.ready_node(1)
    seen = await news(stage, seen, nodes=1)
    stage.world.cluster.version = "v1.35.0+k3s1"
    seen = await news(stage, seen, version="v1.35.0+k3s1")
    stage.world.cluster.faults.add(ApiFault("GET", "/version", 503, count=1000))
    seen = await news(stage, seen, health=Health.UNKNOWN)
    stage.world.cluster.faults.clear()
    await news(stage, seen, health=Health.VALID, nodes=1)


@pytest.mark.simulator
async def test_a_new_worker_s_slow_first_list_is_no_news(stage: Stage) -> None:
    await stage.world.ready_node(1)
    seen = await news(stage, await watch(stage), nodes=1)
    slow = ApiFault("GET", "/api/v1/nodes", code=0, delay=AGAIN_S + 1)
    stage.world.cluster.faults.add(slow)
    caches = NodeCaches(stage.apis)
    try:
        again = await watch(replace(stage, caches=caches), seen, AGAIN_S + 1.5)
    finally:
        await caches.close()
    assert slow.count == 0
    assert again == seen


@pytest.mark.simulator
async def test_one_failed_look_at_a_cluster_is_no_news(stage: Stage) -> None:
    seen = await watch(stage)
    fault = ApiFault("GET", "/version", 503)
    stage.world.cluster.faults.add(fault)
    assert (await watch(stage, seen, 0.5)).digest == seen.digest
    assert fault.count == 0
