"""What lists and describes show: rows that travel in a workflow's memo, and views that a query answers."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel

from core.backoff import Backoff
from core.calls import Health, JoinMethod
from core.conditions import Condition
from core.events import PoolEvent
from core.machine import Machine
from core.planner import Action
from core.spec import PoolSpec
from core.usage import UsageReport


class PoolRow(BaseModel):
    """A pool in a list. Kept in the memo, so a list is one page of visibility."""

    organization: str
    cluster: str
    name: str
    phase: str
    size: int
    ready: int
    target: int
    min: int
    max: int
    server_type: str
    location: str
    credential: str
    version: str
    paused: bool
    message: str
    created_at: datetime


class PoolView(BaseModel):
    """A pool in full: spec, machines, conditions, what happens next and why, and the event log."""

    row: PoolRow
    pool_id: str
    spec: PoolSpec
    machines: list[Machine]
    conditions: list[Condition]
    next: list[Action]
    notes: list[str] = []
    wake_at: datetime | None
    backoff: Backoff | None
    operations: dict[str, str]
    events: list[PoolEvent]
    usage: UsageReport


class CredentialRow(BaseModel):
    """A credential in a list: health and use, never the secret."""

    name: str
    cloud: str
    health: Health
    reason: str
    message: str
    since: datetime
    probed_at: datetime
    pools: list[str]
    version: str


class ClusterRow(BaseModel):
    """A registered cluster in a list."""

    name: str
    health: Health
    message: str
    version: str
    join: JoinMethod
    api_endpoint: str
    nodes: int
    pools: list[str]
    registered_at: datetime
    cluster_id: str


class OrganizationView(BaseModel):
    """An organization: its flag and counts."""

    name: str
    enabled: bool
    credentials: int
    clusters: int
    pools: int
    created_at: datetime
