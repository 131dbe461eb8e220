"""The eviction subresource, answer by answer."""

import json
from typing import Any

import pytest
from kubernetes.aio import client

from tests.cluster_world import World, eventually

EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction"}


async def add_node(world: World, name: str) -> None:
    amounts = {"cpu": "64", "memory": "64Gi", "pods": "500"}
    ready = {"type": "Ready", "status": "True"}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
    await world.core.create_node({"metadata": {"name": name}, "status": status})


async def add_pods(world: World, count: int, ready: bool = True, phase: str = "Running") -> list[str]:
    """Pods of one replica set on a node without kubelet, in a state of our choosing."""
    await add_node(world, "node-a")
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    spec = {"replicas": count, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    await client.AppsV1Api(world.api).create_namespaced_replica_set(
        "default", {"metadata": {"name": "web"}, "spec": spec}
    )

    async def bound() -> list[str]:
        pods = (await world.core.list_namespaced_pod("default", label_selector="app=web")).items
        names = [pod.metadata.name for pod in pods if pod.spec.node_name]
        return names if len(names) == count else []

    names = await eventually(bound)
    status = {"phase": phase, "conditions": [{"type": "Ready", "status": str(ready)}]}
    for name in names:
        await world.core.patch_namespaced_pod_status(name, "default", {"status": status})
    return names


async def add_budget(world: World, name: str = "budget", **spec: Any) -> None:
    body = {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec}}
    policy = client.PolicyV1Api(world.api)
    await policy.create_namespaced_pod_disruption_budget("default", body)

    async def observed() -> bool:
        found = await policy.read_namespaced_pod_disruption_budget(name, "default")
        return found.status.observed_generation == found.metadata.generation

    await eventually(observed)


async def healthy(world: World, count: int) -> None:
    async def counted() -> bool:
        found = await client.PolicyV1Api(world.api).read_namespaced_pod_disruption_budget("budget", "default")
        return bool(found.status.current_healthy == count)

    await eventually(counted)


async def evict(world: World, name: str, **options: Any) -> Any:
    body = EVICTION | {"metadata": {"name": name}} | ({"deleteOptions": options} if options else {})
    return await world.core.create_namespaced_pod_eviction(name, "default", body)


async def refusal(world: World, name: str, **options: Any) -> tuple[client.ApiException, dict[str, Any]]:
    with pytest.raises(client.ApiException) as caught:
        await evict(world, name, **options)
    return caught.value, json.loads(caught.value.body)


async def test_an_allowed_eviction_answers_201_and_marks_the_pod(world: World) -> None:
    name, *_ = await add_pods(world, 2)
    await add_budget(world, minAvailable=1)
    await healthy(world, 2)
    answer = await world.core.create_namespaced_pod_eviction_with_http_info(
        name, "default", EVICTION | {"metadata": {"name": name}}
    )
    assert answer.status_code == 201
    pod = await world.core.read_namespaced_pod(name, "default")
    assert pod.metadata.deletion_grace_period_seconds == 30
    target = next(c for c in pod.status.conditions if c.type == "DisruptionTarget")
    assert (target.status, target.reason) == ("True", "EvictionByEvictionAPI")


async def test_a_spent_budget_answers_429_without_retry_after(world: World) -> None:
    name, *_ = await add_pods(world, 2)
    await add_budget(world, minAvailable=2)
    await healthy(world, 2)
    error, status = await refusal(world, name)
    assert (error.status, status["reason"]) == (429, "TooManyRequests")
    assert status["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    cause = {
        "reason": "DisruptionBudget",
        "message": "The disruption budget budget needs 2 healthy pods and has 2 currently",
    }
    assert status["details"]["causes"] == [cause]
    assert "Retry-After" not in error.headers


async def test_two_budgets_for_one_pod_answer_500_without_reason(world: World) -> None:
    name, *_ = await add_pods(world, 1)
    await add_budget(world, minAvailable=0)
    await add_budget(world, "second", minAvailable=0)
    error, status = await refusal(world, name)
    assert error.status == 500
    assert "reason" not in status
    assert status["message"] == (
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    )


async def test_the_budget_is_asked_before_the_uid(world: World) -> None:
    name, *_ = await add_pods(world, 1)
    wrong = {"uid": "00000000-0000-0000-0000-000000000000"}
    error, _ = await refusal(world, name, preconditions=wrong)
    assert error.status == 409
    await add_budget(world, maxUnavailable=0)
    await healthy(world, 1)
    error, _ = await refusal(world, name, preconditions=wrong)
    assert error.status == 429


@pytest.mark.parametrize(("policy", "code"), [("AlwaysAllow", 201), ("IfHealthyBudget", 429)])
async def test_an_unready_pod_goes_only_where_the_policy_lets_it(world: World, policy: str, code: int) -> None:
    name, *_ = await add_pods(world, 2, ready=False)
    await add_budget(world, minAvailable=1, unhealthyPodEvictionPolicy=policy)
    if code == 201:
        await evict(world, name)
    else:
        error, _ = await refusal(world, name)
        assert error.status == code


async def test_pending_and_leaving_pods_need_no_budget(world: World) -> None:
    first, second = await add_pods(world, 2, ready=False, phase="Pending")
    await add_budget(world, maxUnavailable=0)
    await evict(world, first)
    await world.core.patch_namespaced_pod_status(second, "default", {"status": {"phase": "Running"}})
    await world.core.delete_namespaced_pod(second, "default")
    await evict(world, second, gracePeriodSeconds=5)
    pod = await world.core.read_namespaced_pod(second, "default")
    assert pod.metadata.deletion_grace_period_seconds == 5


async def test_a_missing_pod_answers_404_and_another_name_400(world: World) -> None:
    error, _ = await refusal(world, "nobody")
    assert error.status == 404
    name, *_ = await add_pods(world, 1)
    with pytest.raises(client.ApiException) as caught:
        await world.core.create_namespaced_pod_eviction(name, "default", EVICTION | {"metadata": {"name": "x"}})
    assert caught.value.status == 400


async def test_a_dry_run_evicts_nothing(world: World) -> None:
    name, *_ = await add_pods(world, 1)
    await evict(world, name, dryRun=["All"])
    pod = await world.core.read_namespaced_pod(name, "default")
    assert pod.metadata.deletion_timestamp is None


async def test_pods_without_a_scalable_controller_fail_the_sync_of_a_budget(world: World) -> None:
    await add_node(world, "node-a")
    await add_budget(world, maxUnavailable=1)
    uid = (await world.core.read_namespace("default")).metadata.uid
    owner = {"apiVersion": "example.org/v1", "kind": "Thing", "name": "t", "uid": uid, "controller": True}
    metadata = {"name": "lone", "labels": {"app": "web"}, "ownerReferences": [owner]}
    spec = {"nodeName": "node-a", "containers": [{"name": "c", "image": "i:1"}]}
    await world.core.create_namespaced_pod("default", {"metadata": metadata, "spec": spec})
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await world.core.patch_namespaced_pod_status("lone", "default", {"status": ready})

    async def failed() -> bool:
        policy = client.PolicyV1Api(world.api)
        found = await policy.read_namespaced_pod_disruption_budget("budget", "default")
        return any(c.reason == "SyncFailed" for c in found.status.conditions or ())

    await eventually(failed)
    _, status = await refusal(world, "lone")
    assert "because it failed sync" in status["details"]["causes"][0]["message"]
