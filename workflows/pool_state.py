"""What a pool's workflow carries from run to run, and the pure steps that reports and sightings make on it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel

from core.assess import assess, pool_phase
from core.autoscale_calls import Standing
from core.backoff import Backoff, after_failure
from core.calls import Health, MachineSeen, PoolObservation, ServerType
from core.cloud_errors import CloudClass, CloudFailure
from core.conditions import Condition, merge
from core.events import PoolEvent, Reason, record
from core.machine import Machine, Phase, Presence
from core.planner import Action, Freeze, Situation, plan
from core.spec import PoolSpec
from core.usage import Meter, UsageLine
from core.views import PoolRow, PoolView
from workflows.entity import EntityState
from workflows.messages import MachineReport


class OperationKind(StrEnum):
    """What a child workflow does."""

    PROVISION = "provision"
    RETIRE = "retire"


class RunningOperation(BaseModel):
    """A child workflow that has not reported its end."""

    kind: OperationKind
    machine: str
    workflow_id: str
    started_at: datetime
    held: bool = False


class PoolState(EntityState):
    """The pool: what was asked, what exists, what runs, what happened. The only copy of the machine table."""

    spec: PoolSpec
    server: ServerType | None = None
    pool_id: str
    cluster_id: str
    created_at: datetime
    target: int
    meter: Meter
    told_open: list[str] = []
    machines: dict[str, Machine] = {}
    next_serial: int = 0
    server_ids: list[int] = []
    ssh_key_id: int | None = None
    operations: dict[str, RunningOperation] = {}
    backoff: Backoff | None = None
    credential_refused: bool = False
    refusal_told: bool = False
    deleting: bool = False
    cloud: Health = Health.VALID
    api: Health = Health.VALID
    message: str = ""
    conditions: list[Condition] = []
    events: list[PoolEvent] = []
    heard: int = 0
    told: Standing | None = None
    aborted_at: datetime | None = None
    removed_at: datetime | None = None

    @classmethod
    def new(cls, spec: PoolSpec, pool_id: str, cluster_id: str, now: datetime) -> PoolState:
        """A pool that was just asked for."""
        state = cls(
            spec=spec,
            pool_id=pool_id,
            cluster_id=cluster_id,
            created_at=now,
            target=spec.first_size,
            meter=Meter(pool_from=now),
        )
        state.note(
            now, Reason.POOL_CREATED, f"{spec.server_type} in {spec.location}, {spec.min} to {spec.max} machines"
        )
        return state

    # --- reading ------------------------------------------------------------------------------------------

    @property
    def freeze(self) -> Freeze | None:
        """What keeps every step from starting."""
        if self.credential_refused:
            return Freeze.CREDENTIAL
        return Freeze.PAUSED if self.spec.paused and not self.deleting else None

    @property
    def situation(self) -> Situation:
        """What the planner decides on."""
        return Situation(
            pool_id=self.pool_id,
            target=self.target,
            machines=list(self.machines.values()),
            next_serial=self.next_serial,
            busy=set(self.operations),
            freeze=self.freeze,
            deleting=self.deleting,
            backoff=self.backoff,
        )

    @property
    def row(self) -> PoolRow:
        """The pool as a list shows it."""
        spec, staying = self.spec, [machine for machine in self.machines.values() if not machine.leaving]
        ready = [machine for machine in staying if machine.phase is Phase.READY and machine.ready is not False]
        return PoolRow(
            organization=spec.organization,
            cluster=spec.cluster,
            name=spec.name,
            phase=pool_phase(spec, self.situation),
            size=len(self.machines),
            ready=len(ready),
            target=spec.within_bounds(self.target) if not self.deleting else 0,
            min=spec.min,
            max=spec.max,
            server_type=spec.server_type,
            location=spec.location,
            credential=spec.credential,
            version=",".join(sorted({machine.version for machine in ready if machine.version})),
            paused=spec.paused,
            message=self._headline(),
            created_at=self.created_at,
        )

    def _headline(self) -> str:
        bad = [c for c in self.conditions if c.status and c.type not in ("Ready", "Progressing", "Paused")]
        return f"{bad[0].type}: {bad[0].message}" if bad else ""

    def view(self, now: datetime) -> PoolView:
        """The pool in full, with what the planner would do at `now`."""
        ahead = plan(self.spec, self.situation, now)
        return PoolView(
            row=self.row,
            pool_id=self.pool_id,
            spec=self.spec,
            machines=sorted(self.machines.values(), key=lambda machine: machine.serial),
            conditions=self.conditions,
            next=ahead.actions,
            notes=ahead.notes,
            wake_at=ahead.wake_at,
            backoff=self.backoff,
            operations={key: operation.workflow_id for key, operation in sorted(self.operations.items())},
            events=self.events,
            usage=self.meter.read(now),
        )

    def line(self, now: datetime, *, final: bool = False) -> UsageLine:
        """The pool's line for the organization's ledger."""
        report = self.meter.read(now).model_copy(update={"final": final})
        return UsageLine(pool_id=self.pool_id, cluster=self.spec.cluster, pool=self.spec.name, report=report)

    # --- changing -----------------------------------------------------------------------------------------

    def note(self, now: datetime, reason: Reason, message: str = "", machine: str = "") -> None:
        """Write a line into the event log."""
        record(self.events, PoolEvent(at=now, reason=reason, object=machine, message=message))

    def judge(self, now: datetime) -> None:
        """Recompute the conditions."""
        found = assess(self.spec, self.situation, cloud=self.cloud, api=self.api, message=self.message)
        self.conditions = merge(self.conditions, found, now)

    def add(self, action: Action, operation_id: str, now: datetime) -> Machine:
        """Enter a machine into the table before anything is sent to the cloud."""
        machine = Machine(
            name=action.machine, serial=action.serial, operation_id=operation_id, since=now, planned_at=now
        )
        self.machines[machine.name] = machine
        self.next_serial = max(self.next_serial, action.serial + 1)
        self.note(now, action.reason, action.message, machine.name)
        return machine

    def absorb_report(self, report: MachineReport, now: datetime) -> None:
        """Take in what a child says of its machine."""
        self.note(now, report.reason, report.message, report.machine)
        machine = self.machines.get(report.machine)
        if machine is not None:
            _apply(machine, report, now)
        if report.ssh_key_id is not None:
            self.ssh_key_id = report.ssh_key_id
        self._meter(report)
        if report.failure is not None and report.failure.cls is CloudClass.CREDENTIAL:
            self.refuse_credential(str(report.failure), now)
        if report.reason is Reason.PROVISION_FAILED and report.failure is not None:
            self._back_off(report.failure, now)
        if report.done:
            self._operation_ended(report, now)

    def _back_off(self, failure: CloudFailure, now: datetime) -> None:
        self.backoff = after_failure(self.backoff, failure.cls, str(failure), now)
        until = f"until {self.backoff.until:%H:%M:%S} UTC" if self.backoff.until else "until something changes"
        self.note(now, Reason.BACKING_OFF, f"no create {until}")

    def refuse_credential(self, message: str, now: datetime) -> None:
        """Freeze the pool: the cloud refuses its token, so nothing that is seen of its servers can be trusted."""
        if not self.credential_refused:
            self.note(now, Reason.CREDENTIAL_REFUSED, message)
        self.credential_refused, self.message = True, message

    def _meter(self, report: MachineReport) -> None:
        if report.server_id is None or report.seen_at is None:
            return
        if report.reason is Reason.SERVER_DELETED:
            self.meter.server_gone(report.machine, report.seen_at)
            return
        self.meter.server_seen(report.machine, report.seen_at)
        if report.server_id not in self.server_ids:
            self.server_ids.append(report.server_id)

    def _operation_ended(self, report: MachineReport, now: datetime) -> None:
        self.operations.pop(f"{report.operation}/{report.machine}", None)
        machine = self.machines.get(report.machine)
        if machine is not None and machine.unneeded:
            self._scale_down_ended(machine, report.phase, now)
        if report.phase is Phase.GONE:
            self.machines.pop(report.machine, None)
        if report.phase is Phase.READY and report.operation == OperationKind.PROVISION:
            self.backoff = None

    def _scale_down_ended(self, machine: Machine, phase: Phase | None, now: datetime) -> None:
        if phase is Phase.GONE:
            self.removed_at = now
            return
        self.aborted_at = now
        self.keep(machine)

    def keep(self, machine: Machine) -> None:
        """Count a machine in again that the autoscaler wanted removed and that is not, after all."""
        machine.unneeded, machine.empty = "", False
        self.target = self.spec.within_bounds(self.target + 1)

    def absorb_sight(self, seen: PoolObservation, now: datetime) -> None:
        """Take in what the watch saw."""
        self.cloud, self.api, self.message = seen.cloud, seen.api, seen.message
        if seen.refused:
            self.refuse_credential(seen.message, now)
        for name, sight in sorted(seen.machines.items()):
            machine = self.machines.get(name)
            if machine is not None and machine.phase is Phase.READY:
                self._sight(machine, sight, now)

    def _sight(self, machine: Machine, sight: MachineSeen, now: datetime) -> None:
        if sight.server is Presence.ABSENT and machine.server_presence is not Presence.ABSENT:
            self.note(now, Reason.SERVER_MISSING, f"server {machine.server_id} is no longer listed", machine.name)
        if machine.ready and sight.ready is False:
            self.note(now, Reason.NODE_NOT_READY, sight.waiting_for, machine.name)
        if machine.ready is False and sight.ready:
            self.note(now, Reason.NODE_READY, f"{machine.name} takes work again", machine.name)
        machine.server_presence, machine.node_presence = sight.server, sight.node
        machine.ready, machine.message = sight.ready, sight.waiting_for
        machine.version = sight.version or machine.version
        machine.in_step, machine.digest, machine.seen_at = sight.in_step, sight.digest, now


def _apply(machine: Machine, report: MachineReport, now: datetime) -> None:
    machine.server_id = report.server_id or machine.server_id
    machine.node_uid = report.node_uid or machine.node_uid
    machine.ipv4 = report.ipv4 or machine.ipv4
    machine.version = report.version or machine.version
    phase = report.phase or machine.phase
    machine.enter(phase, now, report.reason, report.message)
    if phase is Phase.READY:
        machine.ready, machine.reason, machine.message = True, "", ""
        machine.server_presence = machine.node_presence = Presence.PRESENT
