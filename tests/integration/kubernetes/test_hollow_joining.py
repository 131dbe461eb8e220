"""A hollow node reads its user-data and joins with a bootstrap token, as a kubelet does."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes.aio import client
from kubernetes_world import FAST, World, eventually

from sandbox.clock import RealClock
from sandbox.hollow import HollowNodes, ServerSeen
from sandbox.hollow.user_data import BadUserData, JoinPlan, parse
from sandbox.kubernetes import Cluster, serve_cluster


def cloud_config(*files: tuple[str, str]) -> str:
    entries = [{"path": path, "content": content} for path, content in files]
    return "#cloud-config\n" + yaml.safe_dump({"write_files": entries})


def kubeadm(endpoint: str, token: str, **registration: Any) -> str:
    join = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "JoinConfiguration",
        "discovery": {"bootstrapToken": {"apiServerEndpoint": endpoint, "token": token}},
        "nodeRegistration": registration,
    }
    return cloud_config(("/etc/kubernetes/managed-pool-join.yaml", yaml.safe_dump(join)))


def server(user_data: str, name: str = "s1") -> ServerSeen:
    return ServerSeen(7, name, user_data, "192.0.2.7", "cax11", 2, 4, 40, "nbg1", "arm")


async def test_a_server_becomes_a_ready_node(world: World) -> None:
    node = await world.ready_node(1, **{"node-label": ["team=a"], "node-taint": ["dedicated=x:NoSchedule"]})
    assert node.spec.provider_id == "hcloud://1001"
    assert node.metadata.labels["team"] == "a"
    assert node.metadata.labels["kubernetes.io/hostname"] == "pool-1"
    assert node.status.capacity["cpu"] == "2"
    assert node.status.node_info.kubelet_version == "v1.34.1+k3s1"
    assert ("dedicated", "NoSchedule") in {(taint.key, taint.effect) for taint in node.spec.taints}


async def test_kubeadm_reserves_labels_taints_and_limits(world: World) -> None:
    arguments = {
        "node-labels": "team=a,tier=web",
        "max-pods": "30",
        "kube-reserved": "cpu=200m,memory=512Mi",
        "provider-id": "hcloud://7",
    }
    text = kubeadm(
        world.url.removeprefix("https://"),
        await world.bootstrap_token(),
        name="worker-7",
        taints=[{"key": "startup", "effect": "NoSchedule"}],
        kubeletExtraArgs=[{"name": name, "value": value} for name, value in arguments.items()],
    )
    world.nodes.boot(server(text + "# KUBELET_VERSION=v1.33.5\n"))
    node = await eventually(lambda: world.node_if("worker-7", "True"))
    assert (node.metadata.labels["team"], node.metadata.labels["tier"]) == ("a", "web")
    assert node.metadata.labels["kubernetes.io/arch"] == "arm64"
    assert (node.status.allocatable["cpu"], node.status.allocatable["pods"]) == ("1800m", "30")
    assert node.status.node_info.kubelet_version == "v1.33.5"
    assert node.spec.provider_id == "hcloud://7"
    assert "startup" in {taint.key for taint in node.spec.taints}


@pytest.mark.parametrize("right", [True, False])
async def test_a_full_token_pins_the_authority(world: World, right: bool) -> None:
    pem = world.cluster.authority.pem if right else "another"
    token = f"K10{hashlib.sha256(pem.encode()).hexdigest()}::{await world.bootstrap_token()}"
    world.nodes.boot(world.server(1, token))
    if right:
        await eventually(lambda: world.node_if("pool-1", "True"))
        return

    async def refused() -> bool:
        node = world.nodes.get("pool-1")
        return node is not None and "CA hash does not match" in node.trouble

    await eventually(refused)
    assert (await world.core.list_node()).items == []


async def test_a_deleted_token_keeps_a_server_out_until_there_is_one(world: World) -> None:
    world.nodes.boot(world.server(1, "abcdef.0123456789abcdef"))

    async def refused() -> bool:
        node = world.nodes.get("pool-1")
        return node is not None and node.trouble.startswith("401")

    await eventually(refused)
    await world.bootstrap_token()
    await eventually(lambda: world.node_if("pool-1", "True"))


async def test_a_label_that_a_kubelet_may_not_set_keeps_it_out(world: World) -> None:
    config = {"node-label": ["node-role.kubernetes.io/worker=x"]}
    world.nodes.boot(world.server(1, await world.bootstrap_token(), **config))

    async def refused() -> bool:
        node = world.nodes.get("pool-1")
        return node is not None and "not allowed to modify labels" in node.trouble

    await eventually(refused)
    assert (await world.core.list_node()).items == []


async def test_a_node_joins_over_plain_http_too(tmp_path: Path) -> None:
    cluster = Cluster(RealClock(), tmp_path, timing=FAST)
    nodes = HollowNodes(RealClock(), tmp_path, FAST)
    async with serve_cluster(cluster) as url, nodes:
        settings = client.Configuration(host=url, api_key={"authorization": f"Bearer {cluster.admin_token}"})
        async with client.ApiClient(settings) as api:
            plain = World(cluster, url, api, client.CoreV1Api(api), nodes, tmp_path / "kubeconfig")
            node = await plain.ready_node(1)
            assert node.metadata.name == "pool-1"


def test_k3s_and_rke2_configurations_are_read() -> None:
    config = {
        "server": "https://10.0.0.2:6443",
        "token": "K10" + "a" * 64 + "::abcdef.0123456789abcdef",
        "node-name": "n",
        "node-label": ["a=b"],
        "node-taint": ["c=d:NoSchedule", "e:NoExecute"],
        "kubelet-arg": ["max-pods=50", "--kube-reserved=cpu=1,memory=1Gi"],
    }
    expected = JoinPlan(
        server="https://10.0.0.2:6443",
        token="abcdef.0123456789abcdef",
        ca_hash="a" * 64,
        node_name="n",
        labels={"a": "b"},
        taints=({"key": "c", "value": "d", "effect": "NoSchedule"}, {"key": "e", "effect": "NoExecute"}),
        kubelet={"max-pods": "50", "kube-reserved": "cpu=1,memory=1Gi"},
        sets_provider_id=True,
        version="v1.34.1+rke2r1",
    )
    script = "export INSTALL_RKE2_VERSION=v1.34.1+rke2r1\necho provider-id=hcloud://$INSTANCE_ID"
    for flavour in ("k3s", "rke2"):
        path = f"/etc/rancher/{flavour}/config.yaml"
        assert parse(cloud_config((path, yaml.safe_dump(config)), ("/usr/local/sbin/join", script))) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#!/bin/sh\n",
        "#cloud-config\nwrite_files: []\n",
        "#cloud-config\n- not a mapping\n",
        cloud_config(("/etc/rancher/k3s/config.yaml", json.dumps({"server": "https://x"}))),
        cloud_config(("/etc/rancher/k3s/config.yaml", json.dumps({"server": "x", "token": "t", "node-taint": ["a"]}))),
    ],
)
def test_user_data_that_cannot_join_is_refused(text: str) -> None:
    with pytest.raises(BadUserData):
        parse(text)
