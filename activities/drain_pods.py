"""The two calls of a drain: which pods are on a node, and the eviction of one, with its many answers made few."""

from __future__ import annotations

from activities.cluster_api import ClusterApi
from activities.cluster_errors import ClusterError
from core.calls import Hold
from core.drain import Pod

_BUDGET = "DisruptionBudget"
_TWO_BUDGETS = "more than one PodDisruptionBudget"


async def pods_on(api: ClusterApi, node: str) -> list[Pod]:
    """The pods of a node, by the field selector that the API server has an index for. Raises ClusterError."""
    listed = await api.get("/api/v1/pods", fieldSelector=f"spec.nodeName={node}")
    return [Pod.of(raw) for raw in listed["items"]]


async def evict(api: ClusterApi, pod: Pod) -> Hold | None:
    """Ask for the pod's eviction: None when it goes or is gone, else what holds it. Raises ClusterError."""
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": {"preconditions": {"uid": pod.uid}},
    }
    try:
        await api.post(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction", body)
    except ClusterError as error:
        if error.status in (404, 409):
            return None  # gone, or another pod of the same name: not ours to evict
        if error.status == 429:
            return _held(pod, error)
        if error.status in (403, 500, 504):
            return Hold(pod=pod.label, message=error.message)
        raise
    return None


def _held(pod: Pod, error: ClusterError) -> Hold:
    """A 429 with a budget's cause names the budget; one without is the API server being busy."""
    message = error.cause(_BUDGET)
    if message is None:
        return Hold(pod=pod.label, message=f"the API server is busy: {error.message}")
    words = message.split()
    budget = words[3] if message.startswith("The disruption budget ") and len(words) > 3 else ""
    return Hold(pod=pod.label, budget=budget, message=message)
