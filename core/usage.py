"""The two metered dimensions: pool management hours and managed-node hours, accrued exactly once.

A pool keeps running totals and reports them whole; the organization's ledger stores the latest report of
each pool id, so a report that arrives twice or late changes nothing twice.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel


class Meter(BaseModel):
    """A pool's meter. Seconds that are over are in the totals; what still runs is in `open`."""

    pool_from: datetime
    node_seconds: float = 0.0
    open: dict[str, datetime] = {}
    closed: list[str] = []

    def server_seen(self, machine: str, at: datetime) -> None:
        """Start a machine's hours: its server was first seen at `at`. A second call changes nothing."""
        if machine not in self.closed:
            self.open.setdefault(machine, at)

    def server_gone(self, machine: str, at: datetime) -> None:
        """End a machine's hours: its server was seen gone at `at`. A second call changes nothing."""
        start = self.open.pop(machine, None)
        if start is not None:
            self.node_seconds += max(0.0, (at - start).total_seconds())
            # Only a name that could still be reported late must be remembered; names are never reused.
            self.closed = [*self.closed[-99:], machine]

    def read(self, now: datetime) -> UsageReport:
        """The totals at `now`, in hours."""
        running = sum(max(0.0, (now - start).total_seconds()) for start in self.open.values())
        return UsageReport(
            pool_hours=max(0.0, (now - self.pool_from).total_seconds()) / 3600,
            node_hours=(self.node_seconds + running) / 3600,
            running=len(self.open),
            at=now,
        )


class UsageReport(BaseModel):
    """Totals since the pool's creation, in hours, and how many nodes go on counting."""

    pool_hours: float
    node_hours: float
    running: int = 0
    at: datetime
    final: bool = False

    def projected(self, now: datetime) -> UsageReport:
        """The totals at a later `now`, if nothing changed since the report."""
        if self.final:
            return self
        hours = max(0.0, (now - self.at).total_seconds()) / 3600
        return self.model_copy(
            update={
                "pool_hours": self.pool_hours + hours,
                "node_hours": self.node_hours + hours * self.running,
                "at": now,
            }
        )


class UsageLine(BaseModel):
    """A ledger line: one pool id's newest totals."""

    pool_id: str
    cluster: str
    pool: str
    report: UsageReport


def post(ledger: dict[str, UsageLine], line: UsageLine) -> None:
    """Enter `line`; an older report never replaces a newer or a final one."""
    known = ledger.get(line.pool_id)
    if known is None or (not known.report.final and known.report.at <= line.report.at):
        ledger[line.pool_id] = line
