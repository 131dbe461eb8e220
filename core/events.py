"""The closed list of event reasons, and the bounded log that a pool keeps of them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel

EVENTS_KEPT = 200  # of about 200 bytes each: the log stays far below a payload's 2 MiB


class Reason(StrEnum):
    """Why something happened to a pool, a machine, a credential or a cluster."""

    POOL_CREATED = "PoolCreated"  # the pool's workflow started
    POOL_UPDATED = "PoolUpdated"  # mutable fields changed
    POOL_PAUSED = "PoolPaused"  # frozen by request
    POOL_RESUMED = "PoolResumed"  # the freeze ended
    POOL_DELETING = "PoolDeleting"  # the delete was accepted
    POOL_DELETED = "PoolDeleted"  # nothing of the pool is left
    SCALED = "Scaled"  # the wanted size was set, by a person or by the autoscaler
    REQUEST_REFUSED = "RequestRefused"  # a signal asked for something that breaks a rule
    BELOW_SIZE = "BelowSize"  # a machine is added because fewer exist than wanted
    ABOVE_SIZE = "AboveSize"  # a machine is removed because more exist than wanted
    SCALE_DOWN = "ScaleDown"  # the autoscaler removes a machine whose node no pod needs
    SCALE_DOWN_FAILED = "ScaleDownFailed"  # that was given up: the machine stays, and its node is as it was
    SERVER_CREATING = "ServerCreating"  # the create is about to be sent
    SERVER_CREATED = "ServerCreated"  # the cloud accepted the create
    SERVER_ADOPTED = "ServerAdopted"  # an earlier create had succeeded without our knowing
    NODE_JOINED = "NodeJoined"  # the node registered with the cluster
    NODE_READY = "NodeReady"  # the node takes work
    NODE_WAITING = "NodeWaiting"  # the node says what it waits for, the CNI for example
    NODE_NOT_READY = "NodeNotReady"  # a node that was Ready is no longer
    SERVER_MISSING = "ServerMissing"  # the cloud no longer lists a server of ours
    NODE_SYNCED = "NodeSynced"  # labels and taints were brought into step
    DRAIN_STARTED = "DrainStarted"  # the node is cordoned and its pods are being evicted
    DRAIN_WAITING = "DrainWaiting"  # a pod and a disruption budget hold the drain
    DRAINED = "Drained"  # no pod that a drain moves is left on the node
    DRAIN_FORCED = "DrainForced"  # the drain's time was over; the machine goes anyway
    SERVER_DELETED = "ServerDeleted"  # GET answers 404
    NODE_REAPED = "NodeReaped"  # the Node object is removed
    PROVISION_FAILED = "ProvisionFailed"  # a machine did not come up; what it left is being removed
    PROVISION_UNDONE = "ProvisionUndone"  # nothing is left of a machine that did not come up
    RETIRE_FAILED = "RetireFailed"  # a removal stopped and will be tried again
    OPERATION_LOST = "OperationLost"  # a child workflow ended without a report; its machine is cleaned up
    BACKING_OFF = "BackingOff"  # no create until the given time
    CREDENTIAL_REFUSED = "CredentialRefused"  # the cloud refused the token; the pool is frozen
    CREDENTIAL_RESTORED = "CredentialRestored"  # a rotate brought a token that works


class PoolEvent(BaseModel):
    """One line of a pool's log. Repeats of the same reason, object and message are counted."""

    at: datetime
    reason: Reason
    object: str = ""
    message: str = ""
    count: int = 1
    first_at: datetime | None = None


def record(log: list[PoolEvent], event: PoolEvent) -> None:
    """Append `event` to `log`, folding it into the newest equal one, and keep the log bounded."""
    for known in reversed(log[-20:]):
        if (known.reason, known.object, known.message) == (event.reason, event.object, event.message):
            known.first_at = known.first_at or known.at
            known.at, known.count = event.at, known.count + 1
            return
    log.append(event)
    del log[:-EVENTS_KEPT]
