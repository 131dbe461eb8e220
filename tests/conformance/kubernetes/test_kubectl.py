"""Everyday kubectl, the real binary, against the simulated cluster."""

import asyncio
import time

import aiohttp

from tests.cluster_world import World, eventually

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: "nginx:1", resources: {requests: {cpu: 100m, memory: 64Mi}}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: kube-system}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: "agent:1"}]}
"""


async def test_nodes_are_listed_and_described(world: World) -> None:
    await world.ready_node(1)
    listed = await world.run("get", "nodes", "-o", "wide")
    assert listed.split("\n")[1].split()[:5:4] == ["pool-1", world.version]
    described = await world.run("describe", "node", "pool-1")
    assert "HolderIdentity:  pool-1" in described
    assert "hcloud://1001" in described


async def test_a_node_is_cordoned_drained_and_uncordoned(world: World) -> None:
    for number in (1, 2):
        await world.ready_node(number)
    assert "deployment.apps/web created" in await world.run("apply", "-f", "-", stdin=WEB)
    await world.run("rollout", "status", "deployment/web", "--timeout=10s")
    drained = await world.run("drain", "pool-1", "--ignore-daemonsets", "--timeout=20s")
    assert "node/pool-1 drained" in drained
    assert "SchedulingDisabled" in await world.run("get", "node", "pool-1")
    where = await world.run("get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}")
    assert set(where.split()) <= {"pool-2"}
    await world.run("uncordon", "pool-1")

    async def clean() -> bool:
        return not (await world.core.read_node("pool-1")).spec.taints

    await eventually(clean)


async def test_a_change_is_applied_rolled_out_and_undone(world: World) -> None:
    await world.ready_node(1)
    await world.run("apply", "-f", "-", stdin=WEB)
    assert "deployment.apps/web configured" in await world.run(
        "apply", "-f", "-", stdin=WEB.replace("nginx:1", "nginx:2")
    )
    await world.run("rollout", "status", "deployment/web", "--timeout=10s")
    assert "nginx:2" in await world.run("get", "pods", "-o", "jsonpath={.items[*].spec.containers[*].image}")
    await world.run("rollout", "undo", "deployment/web")
    await world.run("rollout", "status", "deployment/web", "--timeout=10s")
    assert "3" in await world.run("rollout", "history", "deployment/web")


async def test_scale_label_taint_and_delete(world: World) -> None:
    await world.ready_node(1)
    await world.run("apply", "-f", "-", stdin=WEB)
    await world.run("scale", "deployment/web", "--replicas=1")
    await world.run("rollout", "status", "deployment/web", "--timeout=10s")
    assert "1/1" in await world.run("get", "deployment", "web")
    await world.run("label", "node", "pool-1", "team=a")
    assert "pool-1" in await world.run("get", "nodes", "-l", "team=a")
    await world.run("taint", "node", "pool-1", "key=value:NoSchedule")
    assert "key=value:NoSchedule" in await world.run("describe", "node", "pool-1")
    await world.run("taint", "node", "pool-1", "key-")
    await world.run("delete", "deployment", "web", "--timeout=10s")
    code, output = await world.kubectl("get", "deployment", "web")
    assert code == 1
    assert 'deployments.apps "web" not found' in output


async def test_a_watch_shows_changes(world: World) -> None:
    await world.ready_node(1)
    watching = asyncio.create_task(world.run("get", "nodes", "-w", "--request-timeout=4s"))

    async def changed() -> bool:
        """Change it again and again: nobody tells when the watch has begun."""
        await world.core.patch_node("pool-1", {"metadata": {"labels": {"team": str(time.monotonic())}}})
        return watching.done()

    await eventually(changed)
    lines = [line.split()[:2] for line in (await watching).splitlines()]
    assert lines.count(["pool-1", "Ready"]) > 1


async def test_create_sends_what_only_protobuf_carries(world: World) -> None:
    await world.ready_node(1)
    await world.run("create", "deployment", "web", "--image=nginx:1", "--replicas=2", "--port=80")
    await world.run("rollout", "status", "deployment/web", "--timeout=10s")
    (container,) = (await world.core.list_namespaced_pod("default")).items[0].spec.containers
    assert (container.image, container.ports[0].container_port) == ("nginx:1", 80)
    await world.run("create", "pdb", "web", "--max-unavailable=50%", "--selector=app=web")
    assert "50%" in await world.run("get", "pdb", "web")
    await world.run("create", "secret", "generic", "s", "--from-literal=a=b")
    assert (await world.core.read_namespaced_secret("s", "default")).data == {"a": "Yg=="}
    assert (await world.run("auth", "can-i", "create", "pods")) == "yes\n"


async def test_a_broken_protobuf_body_is_refused(world: World) -> None:
    headers = {"Authorization": f"Bearer {world.token}"}
    headers["Content-Type"] = "application/vnd.kubernetes.protobuf"
    url = f"{world.url}/api/v1/namespaces"
    async with aiohttp.ClientSession(headers=headers) as session:
        for body in (b"k8s\x00\x0a\xff", b"nonsense", b"k8s\x00\x0a\x0a\x0a\x02v1\x12\x04What"):
            async with session.post(url, data=body, ssl=False) as answer:
                assert (answer.status, (await answer.json())["reason"]) == (400, "BadRequest")
