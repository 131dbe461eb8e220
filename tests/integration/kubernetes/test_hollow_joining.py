"""A hollow node reads its user-data and joins with a bootstrap token, as a kubelet does."""

from kubernetes_world import World


async def test_a_server_becomes_a_ready_node(world: World) -> None:
    node = await world.ready_node(1, **{"node-label": ["team=a"], "node-taint": ["dedicated=x:NoSchedule"]})
    assert node.spec.provider_id == "hcloud://1001"
    assert node.metadata.labels["team"] == "a"
    assert node.metadata.labels["kubernetes.io/hostname"] == "pool-1"
    assert node.status.capacity["cpu"] == "2"
    assert node.status.node_info.kubelet_version == "v1.34.1+k3s1"
    assert ("dedicated", "NoSchedule") in {(taint.key, taint.effect) for taint in node.spec.taints}
