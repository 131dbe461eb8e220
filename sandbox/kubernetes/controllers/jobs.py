"""Runs jobs: pods until enough have succeeded, or too many have failed.

Each pod of a job carries a finalizer until it has been counted, so that one deleted early is not run twice.
"""

from datetime import datetime

from sandbox.kubernetes.controllers.replica_sets import active_pods, pod_of
from sandbox.kubernetes.kinds import JOBS, PODS
from sandbox.kubernetes.objects import (
    Obj,
    is_deleting,
    is_finished,
    is_true,
    name_of,
    namespace_of,
    set_condition,
    stamp,
)
from sandbox.kubernetes.registry import Registry

TRACKING = "batch.kubernetes.io/job-tracking"


def reconcile_jobs(registry: Registry, now: datetime) -> None:
    """Count pods that ended, create those still needed, and report."""
    for job in registry.store.objs(JOBS):
        succeeded, failed = _count_ended(registry, job)
        if is_deleting(job):
            continue
        status = job["status"]
        _report(registry, job, status.get("succeeded", 0) + succeeded, status.get("failed", 0) + failed, now)


def _count_ended(registry: Registry, job: Obj) -> tuple[int, int]:
    succeeded = failed = 0
    for pod in registry.store.owned_by(job["metadata"]["uid"], PODS):
        if TRACKING not in (pod["metadata"].get("finalizers") or ()):
            continue
        removed = is_deleting(pod) and not pod["metadata"].get("deletionGracePeriodSeconds")
        if is_finished(pod) or removed:
            if pod["status"].get("phase") == "Succeeded":
                succeeded += 1
            else:
                failed += 1
            registry.update(PODS, namespace_of(pod), name_of(pod), _untracked)
    return succeeded, failed


def _untracked(pod: Obj) -> Obj:
    pod["metadata"]["finalizers"] = [f for f in pod["metadata"]["finalizers"] if f != TRACKING]
    return pod


def _report(registry: Registry, job: Obj, succeeded: int, failed: int, now: datetime) -> None:
    spec = job["spec"]
    done = succeeded >= spec["completions"]
    broken = failed > spec["backoffLimit"]
    active = active_pods(registry, job)
    if is_true(job, "Complete") or is_true(job, "Failed"):
        return
    if not done and not broken and not spec["suspend"]:
        needed = min(spec["parallelism"], spec["completions"] - succeeded) - len(active)
        for _ in range(needed):
            pod = pod_of("batch/v1", "Job", job)
            pod["metadata"]["finalizers"] = [TRACKING]
            registry.create(PODS, namespace_of(job), pod)
    elif broken:
        for pod in active:
            registry.delete(PODS, namespace_of(pod), name_of(pod))

    def write(obj: Obj) -> Obj:
        status = obj["status"]
        status |= {"active": len(active_pods(registry, job)), "succeeded": succeeded, "failed": failed}
        status.setdefault("startTime", stamp(now))
        if done:
            status["completionTime"] = stamp(now)
            for type_ in ("SuccessCriteriaMet", "Complete"):
                set_condition(obj, {"type": type_, "status": "True", "reason": "CompletionsReached"}, now)
        elif broken:
            set_condition(obj, {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}, now)
        return obj

    registry.update(JOBS, namespace_of(job), name_of(job), write, "status")
