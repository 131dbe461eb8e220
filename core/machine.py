"""A machine's life: `Planned → Creating → Booting → Joined → Ready → (Draining → Deleting) → Gone`."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import BaseModel


class Phase(StrEnum):
    """Where a machine stands. Each phase before Ready has a deadline."""

    PLANNED = "Planned"  # named and recorded; nothing was sent to the cloud yet
    CREATING = "Creating"  # the create was sent; its answer is not known yet
    BOOTING = "Booting"  # the server exists; its node has not registered
    JOINED = "Joined"  # the node registered; it is not ready for work
    READY = "Ready"  # Ready=True and no initialization taint is left
    DRAINING = "Draining"  # cordoned; its pods are being evicted
    DELETING = "Deleting"  # the delete was sent; the server is not seen gone
    GONE = "Gone"  # GET answered 404 and the Node object is reaped


class Presence(StrEnum):
    """Whether something was seen. Unknown never causes a create, a delete or a repair."""

    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"


# Deadlines from a phase's start. Separate ones for the API action, the join and readiness, because a single
# short one kills machines that had joined and only waited for their CNI.
DEADLINES: dict[Phase, timedelta] = {
    Phase.CREATING: timedelta(minutes=5),
    Phase.BOOTING: timedelta(minutes=15),
    Phase.JOINED: timedelta(minutes=10),
    Phase.DRAINING: timedelta(minutes=30),
}

BEFORE_READY = (Phase.PLANNED, Phase.CREATING, Phase.BOOTING, Phase.JOINED)
LEAVING = (Phase.DRAINING, Phase.DELETING, Phase.GONE)


class Machine(BaseModel):
    """One row of the pool's machine table. Identity is the server's id and the node's UID, never a name or an IP."""

    name: str
    serial: int
    operation_id: str
    phase: Phase = Phase.PLANNED
    since: datetime
    planned_at: datetime
    reason: str = ""
    message: str = ""
    server_id: int | None = None
    node_uid: str | None = None
    ipv4: str = ""
    version: str = ""
    ready: bool | None = None
    server_presence: Presence = Presence.UNKNOWN
    node_presence: Presence = Presence.UNKNOWN
    in_step: bool = True
    digest: str = ""
    seen_at: datetime | None = None
    ready_after_s: float | None = None
    unneeded: str = ""  # why the autoscaler removes it; '' when it does not
    empty: bool = False  # it was decided as one that holds nothing that must move

    @property
    def leaving(self) -> bool:
        """Whether the machine is on its way out."""
        return self.phase in LEAVING

    def enter(self, phase: Phase, now: datetime, reason: str = "", message: str = "") -> None:
        """Move to `phase`; the phase's clock starts at `now` unless it was already in it."""
        if phase is not self.phase:
            self.since = now
        self.phase, self.reason, self.message = phase, reason, message
        if phase is Phase.READY and self.ready_after_s is None:
            self.ready_after_s = (now - self.planned_at).total_seconds()
