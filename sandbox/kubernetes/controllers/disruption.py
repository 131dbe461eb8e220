"""Keeps the status of disruption budgets: how many of their pods are healthy and how many may go."""

import math
from datetime import datetime, timedelta

from sandbox.kubernetes.kinds import BUDGETS, DEPLOYMENTS, PODS, REPLICA_SETS
from sandbox.kubernetes.objects import (
    Obj,
    condition,
    controller_of,
    dig,
    is_deleting,
    is_finished,
    is_true,
    name_of,
    namespace_of,
    parse_time,
    set_condition,
)
from sandbox.kubernetes.registry import Registry
from sandbox.kubernetes.selectors import selects
from sandbox.kubernetes.store import Store

_DISRUPTED_FOR = timedelta(minutes=2)  # after an eviction that never led to a deletion


class SyncFailed(Exception):
    """The budget cannot be computed, e.g. as nothing controls its pods."""


def update_budgets(registry: Registry, now: datetime) -> None:
    """Bring the status of every budget up to date."""
    for budget in registry.store.objs(BUDGETS):
        registry.update(
            BUDGETS, namespace_of(budget), name_of(budget), lambda b: _updated(b, registry.store, now), "status"
        )


def _updated(budget: Obj, store: Store, now: datetime) -> Obj:
    selector = budget["spec"].get("selector")
    pods = [p for p in store.objs(PODS, namespace_of(budget)) if selects(selector, p) and not is_finished(p)]
    status = budget.setdefault("status", {})
    try:
        expected, desired = _expectation(budget, pods, store)
    except SyncFailed as error:
        status["disruptionsAllowed"] = 0
        failed = {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": str(error)}
        set_condition(budget, failed, now)
        return budget
    disrupted = _still_disrupted(status.get("disruptedPods") or {}, pods, now)
    healthy = sum(_is_healthy(pod, disrupted) for pod in pods)
    allowed = max(0, healthy - desired) if expected else 0
    status |= {
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": allowed,
        "expectedPods": expected,
        "observedGeneration": budget["metadata"].get("generation", 0),
    }
    status.pop("disruptedPods", None)
    if disrupted:
        status["disruptedPods"] = disrupted
    _say(budget, allowed, now)
    return budget


def _say(budget: Obj, allowed: int, now: datetime) -> None:
    word = (
        {"status": "True", "reason": "SufficientPods"} if allowed else {"status": "False", "reason": "InsufficientPods"}
    )
    generation = {"observedGeneration": budget["metadata"].get("generation", 0)}
    before = condition(budget, "DisruptionAllowed")
    if before is None or any(before.get(k) != v for k, v in (word | generation).items()):
        set_condition(budget, {"type": "DisruptionAllowed", "message": ""} | word | generation, now)


def _is_healthy(pod: Obj, disrupted: dict[str, str]) -> bool:
    return not is_deleting(pod) and name_of(pod) not in disrupted and is_true(pod, "Ready")


def _still_disrupted(disrupted: dict[str, str], pods: list[Obj], now: datetime) -> dict[str, str]:
    """Evictions that the budget still has to believe in: not seen as deletion yet, and recent."""
    alive = {name_of(pod) for pod in pods if not is_deleting(pod)}
    return {
        name: since for name, since in disrupted.items() if name in alive and parse_time(since) + _DISRUPTED_FOR > now
    }


def _expectation(budget: Obj, pods: list[Obj], store: Store) -> tuple[int, int]:
    """Expected pods, and how many of them must stay healthy. Raises SyncFailed."""
    spec = budget["spec"]
    if "maxUnavailable" in spec:
        expected = _scale(pods, store)
        return expected, max(0, expected - _portion(spec["maxUnavailable"], expected))
    least = spec.get("minAvailable", 1)
    if isinstance(least, int):
        return len(pods), least
    expected = _scale(pods, store)
    return expected, _portion(least, expected)


def _portion(value: int | str, whole: int) -> int:
    """A number, or a percentage of the whole rounded up."""
    return value if isinstance(value, int) else math.ceil(int(value[:-1]) * whole / 100)


def _scale(pods: list[Obj], store: Store) -> int:
    """The replicas that the pods' controllers want together."""
    wanted: dict[str, int] = {}
    for pod in pods:
        owner = controller_of(pod)
        if owner is None:
            continue  # reported as an event of the real controller, and not counted
        uid, replicas = _scale_of(owner, namespace_of(pod), store, name_of(pod))
        wanted[uid] = replicas
    return sum(wanted.values())


def _scale_of(owner: Obj, namespace: str, store: Store, pod: str) -> tuple[str, int]:
    """The topmost scalable controller: a replica set's deployment, when it has one."""
    found = store.get(REPLICA_SETS, namespace, owner["name"]) if owner["kind"] == "ReplicaSet" else None
    if found is None:
        raise SyncFailed(f'found no controllers for pod "{pod}"')
    above = controller_of(found.obj)
    deployment = store.get(DEPLOYMENTS, namespace, above["name"]) if above else None
    top = deployment.obj if deployment else found.obj
    return top["metadata"]["uid"], int(dig(top, ("spec", "replicas")) or 0)
