"""The shared view of a cluster: what it sees, what it calls a change, and when it says that it cannot see."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import yaml
from kubernetes.aio import client

from activities import reflector
from activities.cluster_api import ClusterApi, Page
from activities.cluster_view import ClusterView, ClusterViews, Parts
from core.autoscale.pods import Pod
from core.calls import Health
from sandbox.hollow import Fault
from sandbox.kubernetes.faults import ApiFault
from tests.cluster_world import eventually
from tests.integration.activities_kubernetes.kube_stage import CLUSTER, Stage
from tests.integration.activities_kubernetes.workloads import budget, running

CONTAINER = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "100m"}}}


@asynccontextmanager
async def viewing(stage: Stage) -> AsyncIterator[ClusterView]:
    """The view of the stage's cluster, begun."""
    views = ClusterViews(stage.apis, stage.caches)
    try:
        yield views.of(CLUSTER)
    finally:
        await views.close()


async def until(view: ClusterView, true: Callable[[Parts], bool]) -> Parts:
    """Wait until the view sees the cluster as wanted."""

    async def seen() -> Parts | None:
        return view.parts() if view.synced and true(view.parts()) else None

    found: Parts = await eventually(seen, 20)
    return found


def pod_of(parts: Parts, name: str) -> Pod | None:
    return next((pod for pod in parts.pods if pod.key == f"default/{name}"), None)


async def make_pod(stage: Stage, name: str, **spec: Any) -> None:
    body = {"metadata": {"name": name}, "spec": {"containers": [CONTAINER], **spec}}
    await stage.world.core.create_namespaced_pod("default", body)


async def test_everything_that_a_decision_rests_on_is_seen(stage: Stage) -> None:
    await stage.world.ready_node(1)
    [web] = await running(stage, "web", 1)
    await budget(stage, "web", 0, minAvailable=1)
    labels = {"app": "agent"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [CONTAINER]}}
    agent = {"metadata": {"name": "agent"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
    await client.AppsV1Api(stage.world.api).create_namespaced_daemon_set("default", agent)
    job = {"metadata": {"name": "tidy"}, "spec": {"parallelism": 2, "template": {"spec": {}}}}
    job["spec"]["template"]["spec"] = {"containers": [CONTAINER], "restartPolicy": "Never"}
    job["spec"]["completions"] = 2
    await client.BatchV1Api(stage.world.api).create_namespaced_job("default", job)
    async with viewing(stage) as view:
        parts = await until(view, lambda parts: pod_of(parts, web) is not None and "pool-1" in parts.working)
        pod = pod_of(parts, web)
        assert pod is not None
        assert pod.controller is not None
        wanted = {f"ReplicaSet/default/{pod.controller.name}": 1, "Job/default/tidy": 2}
        assert wanted.items() <= parts.controllers.items()
        [node] = [node for node in parts.nodes if node.name == "pool-1"]
        assert (pod.node, node.ready, node.allocatable["cpu"] > 0) == ("pool-1", True, True)
        [daemon] = parts.daemons
        assert (daemon.key, dict(daemon.requests)["cpu"]) == ("default/agent", 100)
        [found] = [each for each in parts.budgets if each.selector.selects("default", dict(pod.labels))]
        assert found.allowed == 0
        read = await stage.world.core.read_namespaced_pod(web, "default")
        assert parts.uids[f"pod/default/{web}"] == read.metadata.uid
        assert parts.uids["node/pool-1"] == (await stage.world.core.read_node("pool-1")).metadata.uid


async def test_controllers_of_kinds_that_a_server_lacks_are_none_and_hide_nothing_else(stage: Stage) -> None:
    serves = stage.world.simulator is None
    if serves:
        labels = {"app": "db"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [CONTAINER]}}
        spec = {"serviceName": "db", "replicas": 2, "selector": {"matchLabels": labels}, "template": template}
        apps = client.AppsV1Api(stage.world.api)
        await apps.create_namespaced_stateful_set("default", {"metadata": {"name": "db"}, "spec": spec})
    async with viewing(stage) as view:
        parts = await until(view, lambda parts: True)
        sets = {key: count for key, count in parts.controllers.items() if key.startswith("StatefulSet/")}
        assert sets == ({"StatefulSet/default/db": 2} if serves else {})


async def test_a_claim_that_is_bound_changes_its_pod_and_no_other(stage: Stage) -> None:
    core = stage.world.core
    where = {"key": "csi.hetzner.cloud/location", "operator": "In", "values": ["fsn1"]}
    claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": {"requests": {"storage": "10Gi"}}}
    await core.create_namespaced_persistent_volume_claim("default", {"metadata": {"name": "data"}, "spec": claim})
    await make_pod(stage, "db", volumes=[{"name": "disk", "persistentVolumeClaim": {"claimName": "data"}}])
    await make_pod(stage, "web")
    async with viewing(stage) as view:
        before = await until(view, lambda parts: all(pod_of(parts, name) for name in ("db", "web")))
        db = pod_of(before, "db")
        assert db is not None
        assert db.unsupported == ("the claim data, which has no volume yet",)
        volume = {
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "csi.hetzner.cloud", "volumeHandle": "17"},
            "claimRef": {"namespace": "default", "name": "data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [where]}]}},
        }
        await core.create_persistent_volume({"metadata": {"name": "data"}, "spec": volume})
        if stage.world.simulator is not None:  # a real cluster's own controller binds them
            await core.patch_namespaced_persistent_volume_claim("data", "default", {"spec": {"volumeName": "data"}})
            bound = {"status": {"phase": "Bound"}}
            await core.patch_namespaced_persistent_volume_claim_status("data", "default", bound)
        after = await until(view, lambda parts: bool((pod := pod_of(parts, "db")) and pod.volumes))
        db = pod_of(after, "db")
        assert db is not None
        assert db.unsupported == ()
        assert [str(term) for terms in db.volumes for term in terms] == ["csi.hetzner.cloud/location In fsn1"]


async def settled(view: ClusterView) -> tuple[int, int]:
    """What is urgent and what changed, once nothing has for a while."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        known = view.urgent, view.generation
        await view.wait(*known, 0.5, 0.5)
        if (view.urgent, view.generation) == known and view.synced:
            return known
    pytest.fail("the view does not come to rest")


async def test_a_pod_that_no_node_has_room_for_is_urgent_and_wakes_at_once(stage: Stage) -> None:
    async with viewing(stage) as view:
        urgent, generation = await settled(view)
        waiting = asyncio.create_task(view.wait(urgent, generation, 60, 50))
        await make_pod(stage, "big")
        await asyncio.wait_for(waiting, 20)
        pod = pod_of(view.parts(), "big")
        assert pod is not None
        assert (pod.unschedulable, view.urgent > urgent) == (True, True)
        known = await settled(view)
        await stage.world.core.patch_namespaced_pod("big", "default", {"metadata": {"labels": {"tier": "front"}}})
        await until(view, lambda parts: dict(getattr(pod_of(parts, "big"), "labels", ())) == {"tier": "front"})
        assert view.urgent == known[0], "it waited before"


async def test_what_alters_no_decision_is_no_change(stage: Stage) -> None:
    await stage.world.ready_node(1)
    [web] = await running(stage, "web", 1)
    async with viewing(stage) as view:
        known = await settled(view)
        parts = view.parts()
        condition = {"type": "example.com/Told", "status": "True"}
        await stage.world.core.patch_namespaced_pod_status(web, "default", {"status": {"conditions": [condition]}})
        await stage.world.core.patch_node("pool-1", {"metadata": {"annotations": {"example.com/note": "x"}}})
        cache = stage.caches.of(CLUSTER)
        await eventually(lambda: _noted(lambda: "example.com/note" in cache.nodes["pool-1"].annotations))
        await settled(view)
        assert (view.urgent, view.generation) == known
        assert view.parts() is parts
        change = {"metadata": {"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}}}
        await stage.world.core.patch_namespaced_pod(web, "default", change)
        await until(view, lambda parts: getattr(pod_of(parts, web), "safe_to_evict", "") == "false")
        assert (view.urgent, view.generation > known[1]) == (known[0], True)


async def _noted(true: Callable[[], bool]) -> bool:
    return true()


async def test_calm_changes_wait_for_their_time_and_silence_for_a_longer_one(stage: Stage) -> None:
    async with viewing(stage) as view:
        known = await settled(view)
        begun = time.monotonic()
        await view.wait(*known, 0.8, 0.1)
        assert time.monotonic() - begun >= 0.8, "nothing changed"
        begun = time.monotonic()
        waiting = asyncio.create_task(view.wait(*known, 60, 1.5))
        labels = {"matchLabels": {"app": "web"}}
        policy = client.PolicyV1Api(stage.world.api)
        body = {"metadata": {"name": "web"}, "spec": {"maxUnavailable": 1, "selector": labels}}
        await policy.create_namespaced_pod_disruption_budget("default", body)
        await until(view, lambda parts: len(parts.budgets) == 1)
        await asyncio.wait_for(waiting, 20)
        assert (time.monotonic() - begun >= 1.5, view.urgent) == (True, known[0])
        begun = time.monotonic()
        await view.wait(known[0] - 1, view.generation, 60, 60)
        assert time.monotonic() - begun < 1, "what was urgent before is told at once"


@pytest.mark.parametrize("way", ["not ready", "removed"])
async def test_a_node_that_is_lost_is_urgent(stage: Stage, way: str) -> None:
    await stage.world.ready_node(1)
    async with viewing(stage) as view:
        await until(view, lambda parts: "pool-1" in parts.working)
        urgent, generation = await settled(view)
        node = stage.world.nodes.get("pool-1")
        assert node is not None
        if way == "not ready":
            await node.set_fault(Fault.NOT_READY)
        else:
            await stage.world.nodes.gone(1001)
            await stage.world.core.delete_node("pool-1")
        await asyncio.wait_for(view.wait(urgent, generation, 30, 30), 30)
        assert "pool-1" not in view.parts().working
        assert view.urgent > urgent


async def rights(stage: Stage, *, without: str = "") -> None:
    """Let the stored kubeconfig be that of an account that may list and watch all but `without`."""
    resources = "nodes pods persistentvolumeclaims persistentvolumes replicationcontrollers daemonsets replicasets"
    resources += " statefulsets jobs poddisruptionbudgets storageclasses"
    groups = ["", "apps", "batch", "policy", "storage.k8s.io"]
    rules = [
        {"apiGroups": groups, "resources": [resource], "verbs": [verb]}
        for resource in resources.split()
        for verb in ("list", "watch")
        if f"{verb} {resource}" != without
    ]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "looker"}}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "looker"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "looker"},
        "subjects": [{"kind": "ServiceAccount", "name": "looker", "namespace": "default"}],
    }
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "looker", "namespace": "default"}}
    everything = yaml.safe_dump_all([account, role | {"rules": rules}, binding])
    await stage.world.run("apply", "-f", "-", stdin=everything)
    if stage.world.token in stage.vault.kubeconfig:
        token = (await stage.world.run("create", "token", "looker", "--namespace", "default")).strip()
        stage.vault.kubeconfig = stage.vault.kubeconfig.replace(stage.world.token, token)


@pytest.mark.parametrize(("verb", "resource"), [("list", "daemonsets"), ("watch", "pods")])
async def test_a_missing_right_is_named_for_as_long_as_it_is_missing(
    stage: Stage, verb: str, resource: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflector, "PAUSE_S", (0.1, 0.2))
    await rights(stage, without=f"{verb} {resource}")
    async with viewing(stage) as view:
        await eventually(lambda: _noted(lambda: view.health is Health.INVALID), 20)
        assert f'cannot {verb} resource "{resource}"' in view.message
        generation = view.generation
        for _ in range(3):  # several attempts
            await view.wait(view.urgent, view.generation, 0.5, 0.5)
            assert (view.health, view.synced) == (Health.INVALID, False)
        assert view.generation - generation < 20, "the other kinds come, and then nothing is news"
        await rights(stage)
        await eventually(lambda: _noted(lambda: view.synced), 20)
        assert view.message == ""


async def test_a_list_comes_in_pages(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflector, "PAGE", 2)
    asked = watched_pages(monkeypatch)
    for number in range(5):
        await make_pod(stage, f"p{number}")
    async with viewing(stage) as view:
        parts = await until(view, lambda parts: pod_of(parts, "p4") is not None)
        assert {f"default/p{number}" for number in range(5)} <= {pod.key for pod in parts.pods}
        mine = [limit for path, limit, _ in asked if path == "/api/v1/pods"]
        assert (len(mine) >= 3, set(mine)) == (True, {2})
        await make_pod(stage, "later")
        await until(view, lambda parts: pod_of(parts, "later") is not None)


@pytest.mark.simulator
async def test_pages_that_grow_old_are_followed_by_the_whole_list(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflector, "PAGE", 2)

    async def forget(path: str, more: str) -> None:
        if more and path == "/api/v1/pods":
            await stage.world.core.patch_namespaced_pod("p0", "default", {"metadata": {"labels": {"changed": "yes"}}})
            stage.world.compact()

    asked = watched_pages(monkeypatch, forget)
    for number in range(5):
        await make_pod(stage, f"p{number}")
    async with viewing(stage) as view:
        parts = await until(view, lambda parts: pod_of(parts, "p4") is not None)
        assert [(limit, bool(more)) for path, limit, more in asked if path == "/api/v1/pods"] == [
            (2, False),
            (2, True),
            (0, False),
        ]
        assert dict(getattr(pod_of(parts, "p0"), "labels", ())) == {"changed": "yes"}


def watched_pages(
    monkeypatch: pytest.MonkeyPatch, before: Callable[[str, str], Awaitable[None]] | None = None
) -> list[tuple[str, int, str]]:
    """The pages that are asked for from now on: path, limit and token; `before` happens before each."""
    asked: list[tuple[str, int, str]] = []
    get = ClusterApi.page

    async def page(api: ClusterApi, path: str, limit: int, more: str = "") -> Page:
        asked.append((path, limit, more))
        if before:
            await before(path, more)
        return await get(api, path, limit, more)

    monkeypatch.setattr(ClusterApi, "page", page)
    return asked


@pytest.mark.simulator
@pytest.mark.parametrize("path", ["/api/v1/pods", "/api/v1/nodes"])
async def test_no_pods_and_no_nodes_are_believed_only_when_listed(stage: Stage, path: str) -> None:
    stage.world.cluster.faults.add(ApiFault("GET", path, 404, count=1000))
    async with viewing(stage) as view:
        await eventually(lambda: _noted(lambda: "told to fail" in view.message), 20)
        await view.wait(view.urgent, view.generation, 1.0, 1.0)
        assert (view.health, view.synced) == (Health.UNKNOWN, False)
        stage.world.cluster.faults.clear()
        await eventually(lambda: _noted(lambda: view.synced), 20)


@pytest.mark.simulator
async def test_nodes_are_watched_once_for_all_who_look(stage: Stage) -> None:
    async with viewing(stage) as view:
        await settled(view)
        cache = stage.caches.of(CLUSTER)
        await stage.world.ready_node(1)
        await until(view, lambda parts: "pool-1" in parts.working)
        assert cache.nodes["pool-1"].takes_work
        asked = [r for r in stage.world.cluster.requests if r.path == "/api/v1/nodes" and r.user == "kubernetes-admin"]
        assert len([r for r in asked if "limit" in r.query]) == 1


@pytest.mark.simulator
async def test_nodes_that_cannot_be_seen_are_not_lost(stage: Stage) -> None:
    await stage.world.ready_node(1)
    async with viewing(stage) as view:
        await until(view, lambda parts: "pool-1" in parts.working)
        urgent, _ = await settled(view)
        stage.world.cluster.faults.add(ApiFault("GET", "/api/v1/nodes", 503, count=1000))
        stage.world.cluster.hub.cut()
        await eventually(lambda: _noted(lambda: view.health is Health.UNKNOWN), 20)
        assert (view.urgent, "pool-1" in view.parts().working) == (urgent, True)
        stage.world.cluster.faults.clear()
        await eventually(lambda: _noted(lambda: view.synced), 20)
        assert view.urgent == urgent
