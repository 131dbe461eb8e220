"""A hollow node reads its user-data and joins with a bootstrap token, as a kubelet does."""

import secrets
from typing import Any

import yaml

from sandbox.hollow import ServerSeen
from tests.cluster_world import World, eventually


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
    assert node.status.node_info.kubelet_version == world.version
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


async def test_a_deleted_token_keeps_a_server_out_until_there_is_one(world: World) -> None:
    secret = secrets.token_hex(8)
    world.nodes.boot(world.server(1, f"abcdef.{secret}"))

    async def refused() -> bool:
        node = world.nodes.get("pool-1")
        return node is not None and node.trouble.startswith("401")

    await eventually(refused)
    await world.bootstrap_token(secret=secret)
    await eventually(lambda: world.node_if("pool-1", "True"))


async def test_a_label_that_a_kubelet_may_not_set_keeps_it_out(world: World) -> None:
    config = {"node-label": ["node-role.kubernetes.io/worker=x"]}
    world.nodes.boot(world.server(1, await world.bootstrap_token(), **config))

    async def refused() -> bool:
        node = world.nodes.get("pool-1")
        return node is not None and "not allowed to set the following labels" in node.trouble

    await eventually(refused)
    assert (await world.core.list_node()).items == []
