"""A pool's conditions and phase, recomputed from the whole situation on every pass."""

from __future__ import annotations

from enum import StrEnum

from core.calls import Health
from core.cloud_errors import CloudClass
from core.conditions import ConditionType, Finding
from core.machine import BEFORE_READY, Machine, Phase
from core.planner import Freeze, Situation
from core.spec import PoolSpec


class PoolPhase(StrEnum):
    """One word for a list."""

    PROVISIONING = "Provisioning"  # no wanted machine was Ready yet
    READY = "Ready"  # as many machines Ready as wanted
    SCALING = "Scaling"  # machines are being added or removed
    DEGRADED = "Degraded"  # fewer Ready than wanted, and nothing is on the way
    PAUSED = "Paused"  # frozen by request
    DELETING = "Deleting"  # machines are being removed for good


_BACKOFF_CONDITIONS = {
    CloudClass.STOCK: ConditionType.INSTANCE_TYPE_UNAVAILABLE,
    CloudClass.QUOTA: ConditionType.QUOTA_EXCEEDED,
    CloudClass.THROTTLED: ConditionType.RATE_LIMITED,
    CloudClass.INVALID: ConditionType.INVALID_SPEC,
    CloudClass.JOIN: ConditionType.JOIN_FAILING,
}


def pool_phase(spec: PoolSpec, situation: Situation) -> PoolPhase:
    """The pool's phase."""
    staying, ready, moving = _count(situation)
    wanted = spec.within_bounds(situation.target)
    if situation.deleting:
        return PoolPhase.DELETING
    if spec.paused:
        return PoolPhase.PAUSED
    if ready == wanted == len(staying) and not moving:
        return PoolPhase.READY
    if not ready and wanted:
        return PoolPhase.PROVISIONING
    return PoolPhase.SCALING if moving or len(staying) != wanted else PoolPhase.DEGRADED


def assess(spec: PoolSpec, situation: Situation, *, cloud: Health, api: Health, message: str) -> list[Finding]:
    """All conditions that hold, and Ready and Progressing either way."""
    staying, ready, moving = _count(situation)
    wanted = spec.within_bounds(situation.target)
    whole = ready == wanted == len(staying) and not moving
    findings = [
        Finding(
            type=ConditionType.READY,
            status=whole and not situation.deleting,
            reason="AsWanted" if whole else "MachinesMissing" if ready < wanted else "MachinesLeaving",
            message=f"{ready} of {wanted} wanted machines are ready",
        ),
        Finding(
            type=ConditionType.PROGRESSING,
            status=moving > 0,
            reason="MachinesMoving" if moving else "Settled",
            message=f"{moving} machines are being added or removed" if moving else "",
        ),
    ]
    if spec.paused:
        findings.append(_true(ConditionType.PAUSED, "ByRequest", "no create, delete or drain starts"))
    if situation.freeze is Freeze.CREDENTIAL:
        text = f"{message or 'the token was refused'}; frozen until: lbr cloud-credential rotate {spec.credential}"
        findings.append(_true(ConditionType.CREDENTIAL_INVALID, "TokenRefused", text))
    if api is not Health.VALID:
        findings.append(
            _true(ConditionType.CLUSTER_UNREACHABLE, api, "the Kubernetes API does not answer as it should")
        )
    if cloud is Health.UNKNOWN:
        findings.append(_true(ConditionType.CLOUD_UNREACHABLE, "ListingFailed", message))
    return findings + _backoff(situation) + _blocked(situation)


def _count(situation: Situation) -> tuple[list[Machine], int, int]:
    staying = [machine for machine in situation.machines if not machine.leaving]
    ready = sum(machine.phase is Phase.READY and machine.ready is not False for machine in staying)
    moving = sum(machine.leaving or machine.phase in BEFORE_READY for machine in situation.machines)
    return staying, ready, moving


def _backoff(situation: Situation) -> list[Finding]:
    backoff = situation.backoff
    if backoff is None or backoff.cls not in _BACKOFF_CONDITIONS:
        return []
    when = f"; next try at {backoff.until:%H:%M:%S} UTC" if backoff.until else "; no retry until something changes"
    return [_true(_BACKOFF_CONDITIONS[backoff.cls], backoff.cls, backoff.message + when)]


def _blocked(situation: Situation) -> list[Finding]:
    findings = []
    for reason, kind in (("DrainWaiting", ConditionType.DRAIN_BLOCKED), ("RetireFailed", ConditionType.DELETE_BLOCKED)):
        held = [f"{machine.name}: {machine.message}" for machine in situation.machines if machine.reason == reason]
        if held:
            findings.append(_true(kind, reason, "; ".join(held[:5])))
    return findings


def _true(kind: ConditionType, reason: str, message: str) -> Finding:
    return Finding(type=kind, status=True, reason=reason, message=message)
