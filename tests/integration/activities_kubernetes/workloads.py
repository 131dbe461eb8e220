"""Workloads for the drain's tests: replicas on hollow nodes, with and without disruption budgets."""

from __future__ import annotations

from typing import Any

from kubernetes.aio import client

from tests.cluster_world import eventually
from tests.integration.activities_kubernetes.kube_stage import Stage


async def running(stage: Stage, app: str, replicas: int, **pod_spec: Any) -> list[str]:
    """The names of `app`'s pods, all Running on some node."""
    labels = {"app": app}
    pod = {"containers": [{"name": "c", "image": "i:1"}], **pod_spec}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    apps = client.AppsV1Api(stage.world.api)
    await apps.create_namespaced_deployment("default", {"metadata": {"name": app}, "spec": spec})
    return await eventually(lambda: pods_of(stage, app, replicas))


async def pods_of(stage: Stage, app: str, count: int) -> list[str]:
    """The names of `app`'s pods if `count` of them run, else none."""
    pods = (await stage.world.core.list_namespaced_pod("default", label_selector=f"app={app}")).items
    names = [pod.metadata.name for pod in pods if pod.status.phase == "Running" and not pod.metadata.deletion_timestamp]
    return sorted(names) if len(names) == count else []


async def budget(stage: Stage, app: str, allowed: int, name: str = "", **spec: Any) -> None:
    """A disruption budget on `app`'s pods, once it allows `allowed` disruptions."""
    policy, name = client.PolicyV1Api(stage.world.api), name or f"{app}-budget"
    selector = {"matchLabels": {"app": app}}
    body = {"metadata": {"name": name}, "spec": {"selector": selector, **spec}}
    await policy.create_namespaced_pod_disruption_budget("default", body)

    async def settled() -> bool:
        found = await policy.read_namespaced_pod_disruption_budget(name, "default")
        status = found.status
        return bool(status and status.observed_generation == 1 and status.disruptions_allowed == allowed)

    await eventually(settled)


async def on_node(stage: Stage, node: str) -> list[str]:
    """The names of the pods on a node."""
    pods = (await stage.world.core.list_pod_for_all_namespaces(field_selector=f"spec.nodeName={node}")).items
    return sorted(pod.metadata.name for pod in pods)
