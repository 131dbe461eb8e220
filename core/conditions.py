"""The closed list of a pool's conditions. Each is recomputed on every pass, so none outlives its cause."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel


class ConditionType(StrEnum):
    """What a condition is about. The text after each name is what the documents print."""

    READY = "Ready"  # every wanted machine is Ready and labels and taints are in step
    PROGRESSING = "Progressing"  # machines are being added or removed
    PAUSED = "Paused"  # frozen by request: no create, delete, drain, repair or upgrade starts
    CREDENTIAL_INVALID = "CredentialInvalid"  # the token was refused; the pool is frozen until a rotate
    CLUSTER_UNREACHABLE = "ClusterUnreachable"  # the Kubernetes API does not answer; nothing is judged
    CLOUD_UNREACHABLE = "CloudUnreachable"  # the cloud's listing does not answer; no server is judged
    INSTANCE_TYPE_UNAVAILABLE = "InstanceTypeUnavailable"  # out of stock, or not sold in the location
    QUOTA_EXCEEDED = "QuotaExceeded"  # the project's own limit; ask Hetzner to raise it
    RATE_LIMITED = "RateLimited"  # the project's request budget is used up; waits by itself
    INVALID_SPEC = "InvalidSpec"  # the cloud refuses what the spec asks for
    JOIN_FAILING = "JoinFailing"  # servers come up and their nodes do not
    DRAIN_BLOCKED = "DrainBlocked"  # a disruption budget holds a pod on a leaving node
    DELETE_BLOCKED = "DeleteBlocked"  # a server cannot be deleted: protected, or no valid token


class Condition(BaseModel):
    """One condition: true or false, why, and since when."""

    type: ConditionType
    status: bool
    reason: str
    message: str = ""
    since: datetime
    observed_at: datetime


class Finding(BaseModel):
    """A condition as the planner sees it in one pass, before its history is known."""

    type: ConditionType
    status: bool
    reason: str
    message: str = ""


def merge(before: Iterable[Condition], found: Iterable[Finding], now: datetime) -> list[Condition]:
    """The conditions after a pass: `since` moves only where the status changed."""
    known = {condition.type: condition for condition in before}
    merged = []
    for finding in found:
        old = known.get(finding.type)
        since = old.since if old and old.status == finding.status else now
        merged.append(Condition(**finding.model_dump(), since=since, observed_at=now))
    return sorted(merged, key=lambda condition: list(ConditionType).index(condition.type))
