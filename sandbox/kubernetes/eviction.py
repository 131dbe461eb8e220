"""The eviction subresource: a delete that asks the pod's disruption budget first."""

from sandbox.kubernetes.admission import check_namespace
from sandbox.kubernetes.errors import ApiError, bad_request, forbidden
from sandbox.kubernetes.identity import User
from sandbox.kubernetes.kinds import BUDGETS, PODS
from sandbox.kubernetes.objects import (
    Obj,
    condition,
    is_deleting,
    is_true,
    name_of,
    namespace_of,
    set_condition,
    stamp,
)
from sandbox.kubernetes.registry import INTERNAL, Registry
from sandbox.kubernetes.selectors import selects

_MAX_DISRUPTED = 2000  # beyond it the server refuses, as the controller seems not to follow
_RETRY_AFTER = 10
_SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."


def evict(registry: Registry, namespace: str, name: str, eviction: Obj, user: User) -> None:
    """Evict a pod. Raises ApiError 400, 403, 404, 409, 429 (budget) or 500 (two budgets)."""
    pod = registry.get(PODS, namespace, name).obj
    if eviction.get("metadata", {}).get("name", "") != name:
        raise bad_request("name in URL does not match name in Eviction object")
    check_namespace(registry.store, PODS, pod)
    options = eviction.get("deleteOptions") or {}
    dry_run = bool(options.get("dryRun"))
    budget = None if _ignores_budgets(pod) else _budget_of(registry, pod)
    if budget is not None and not _spares_budget(pod, budget):
        _check_budget(budget)
        if not dry_run:
            _spend(registry, budget, pod)
    registry.check_preconditions(PODS, pod, options)
    if not dry_run and not is_deleting(pod):
        registry.update(PODS, namespace, name, lambda p: _mark(p, registry), INTERNAL)
    # The mark moved the resourceVersion, which was compared above already.
    uid_only = {"uid": pod["metadata"]["uid"]}
    registry.delete(PODS, namespace, name, options | {"preconditions": uid_only}, user)


def _ignores_budgets(pod: Obj) -> bool:
    return is_deleting(pod) or pod["status"]["phase"] in ("Pending", "Succeeded", "Failed")


def _budget_of(registry: Registry, pod: Obj) -> Obj | None:
    budgets = [b for b in registry.store.objs(BUDGETS, namespace_of(pod)) if selects(b["spec"].get("selector"), pod)]
    if len(budgets) > 1:
        raise ApiError(500, "", _SEVERAL)
    return budgets[0] if budgets else None


def _spares_budget(pod: Obj, budget: Obj) -> bool:
    """Whether a pod that is not ready may go without using up the budget."""
    if is_true(pod, "Ready"):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget["status"]
    return bool(0 < status["desiredHealthy"] <= status["currentHealthy"])


def _check_budget(budget: Obj) -> None:
    status, name = budget["status"], name_of(budget)
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _too_many(f"The disruption budget {name} is still being processed by the server.", _RETRY_AFTER)
    allowed = status["disruptionsAllowed"]
    if allowed < 0:
        raise forbidden(BUDGETS, name, "pod disruption budget is negative")
    if len(status.get("disruptedPods") or {}) > _MAX_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden(BUDGETS, name, why)
    if allowed == 0:
        raise _too_many(_why_not(budget))


def _why_not(budget: Obj) -> str:
    name, status = name_of(budget), budget["status"]
    synced = condition(budget, "DisruptionAllowed")
    if synced and synced.get("reason") == "SyncFailed":
        why = synced.get("message", "")
        return f"The disruption budget {name} does not allow evicting pods currently because it failed sync: {why}"
    desired, healthy = status["desiredHealthy"], status["currentHealthy"]
    return f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"


def _too_many(cause: str, retry_after: int = 0) -> ApiError:
    details: Obj = {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    headers = {}
    if retry_after:
        details["retryAfterSeconds"] = retry_after
        headers["Retry-After"] = str(retry_after)
    return ApiError(429, "TooManyRequests", _VIOLATES, details, headers)


def _spend(registry: Registry, budget: Obj, pod: Obj) -> None:
    def spend(current: Obj) -> Obj:
        status = current["status"]
        status["disruptionsAllowed"] -= 1
        status.setdefault("disruptedPods", {})[name_of(pod)] = stamp(registry.now())
        return current

    registry.update(BUDGETS, namespace_of(budget), name_of(budget), spend, "status")


def _mark(pod: Obj, registry: Registry) -> Obj:
    target = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    set_condition(pod, target | {"message": "Eviction API: evicting"}, registry.now())
    return pod
