"""The calls of a drain: what is on a node, and the eviction of one pod, with its many answers made four."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from activities.cluster_api import ClusterApi
from activities.cluster_errors import ClusterError
from core.drain import Pod
from core.machine_calls import Hold

_BUDGET, _TERMINATING = "DisruptionBudget", "NamespaceTerminating"
_TWO_BUDGETS = "more than one PodDisruptionBudget"
_BUSY = (429, 503, 504)  # without a budget's cause: the API server, or a conflict on the budget's own object


class Verdict(Enum):
    """How an eviction was answered."""

    ACCEPTED = auto()
    GONE = auto()  # no pod of this name and UID is left
    HELD = auto()  # something must change first
    BUSY = auto()  # says nothing of the pod: ask again


@dataclass(frozen=True)
class Answer:
    """An eviction's answer. `hold` says why a pod is held; `retry_after_s` how long the API asks to wait.

    `final`: asking again soon cannot help.
    """

    verdict: Verdict
    hold: Hold | None = None
    retry_after_s: float | None = None
    final: bool = False


async def pods_on(api: ClusterApi, node: str) -> list[Pod]:
    """The pods of a node, by the field selector that the API server has an index for. Raises ClusterError."""
    listed = await api.get("/api/v1/pods", fieldSelector=f"spec.nodeName={node}")
    return [Pod.of(raw) for raw in listed["items"]]


async def volumes_on(api: ClusterApi, node: str) -> int:
    """How many volumes are attached to a node. Raises ClusterError."""
    listed = await api.get("/apis/storage.k8s.io/v1/volumeattachments")
    return sum(item["spec"].get("nodeName") == node for item in listed["items"])


async def evict(api: ClusterApi, pod: Pod, grace_s: int | None = None) -> Answer:
    """Ask for the pod's eviction, with its own grace period or `grace_s`. Raises ClusterError without an answer."""
    options: dict[str, object] = {"preconditions": {"uid": pod.uid}}
    if grace_s is not None:
        options["gracePeriodSeconds"] = grace_s
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": options,
    }
    try:
        await api.post(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction", body)
    except ClusterError as error:
        if error.status in (None, 401):
            raise
        return _refused(pod, error)
    return Answer(Verdict.ACCEPTED)


def _refused(pod: Pod, error: ClusterError) -> Answer:
    if error.status in (404, 409):
        return Answer(Verdict.GONE)  # gone, or another pod of the same name: not ours to evict
    budget = error.cause(_BUDGET)
    if error.status == 429 and budget is not None:
        return Answer(Verdict.HELD, Hold(pod=pod.label, budget=_name(budget), message=budget), error.retry_after_s)
    if _TWO_BUDGETS in error.message:
        return Answer(Verdict.HELD, Hold(pod=pod.label, message=error.message), final=True)
    if error.status in _BUSY or error.cause(_TERMINATING) is not None:
        return Answer(Verdict.BUSY, retry_after_s=error.retry_after_s)
    return Answer(Verdict.HELD, Hold(pod=pod.label, message=error.message))


def _name(message: str) -> str:
    """The budget's name in "The disruption budget NAME needs 2 healthy pods and has 2 currently"."""
    _, found, rest = message.partition("disruption budget ")
    return rest.split()[0] if found and rest else ""
