"""The planner: what a pool does next, decided from what is asked for and what was seen.

`plan` is pure and total. It serves the workflow, the describe view and the property tests alike. Invariants:
existing machines never pass `max` + surge; nothing is removed below `min` on our own account; unknown presence
causes nothing; a paused or frozen pool starts nothing; a delete goes on even when paused.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel

from core.backoff import Backoff
from core.events import Reason
from core.machine import BEFORE_READY, Machine, Phase
from core.names import machine_name
from core.spec import PoolSpec

SURGE = 1
CREATING = (Phase.PLANNED, Phase.CREATING)  # before the cloud's answer; what boots holds up nobody
CREATES_IN_FLIGHT = 5  # a project's accounts were locked by bursts of parallel creates; few at a time are safe


class ActionKind(StrEnum):
    """What the workflow is to do."""

    PROVISION = "provision"
    RETIRE = "retire"
    SYNC = "sync"
    FINISH = "finish"


class Action(BaseModel):
    """One step. `id` is the same for the same step in each pass; `message` is a sentence for a person."""

    id: str
    kind: ActionKind
    machine: str = ""
    serial: int = 0
    reason: Reason
    message: str


class Freeze(StrEnum):
    """Why nothing may start."""

    PAUSED = "paused"
    CREDENTIAL = "its credential is invalid"


class Situation(BaseModel):
    """All that a decision rests on besides the spec: the table, the wanted size, and what holds the pool."""

    pool_id: str
    target: int
    machines: list[Machine]
    next_serial: int
    busy: set[str] = set()
    freeze: Freeze | None = None
    deleting: bool = False
    backoff: Backoff | None = None


class Plan(BaseModel):
    """The steps that may start now, in order, why nothing more does, and when to look again unprompted."""

    actions: list[Action]
    notes: list[str] = []
    wake_at: datetime | None = None


def plan(spec: PoolSpec, situation: Situation, now: datetime) -> Plan:
    """Decide the steps that `spec` needs in `situation` at `now`."""
    if situation.deleting:
        return _plan_delete(situation)
    if situation.freeze:
        return Plan(actions=[], notes=[f"frozen: {situation.freeze}; no step starts"])
    unneeded = [_scale_down(machine) for machine in _unneeded(spec, situation)]
    going = {action.machine for action in unneeded}
    staying = [machine for machine in _staying(situation) if machine.name not in going]
    wanted = spec.within_bounds(situation.target)
    if len(staying) > wanted:
        actions = [_retire(machine, wanted, len(staying)) for machine in _surplus(staying, len(staying) - wanted)]
        return Plan(actions=unneeded + actions + _syncs(staying, situation, actions))
    grow = _grow(spec, situation, wanted, len(staying), now)
    grow.actions = unneeded + grow.actions + _syncs(staying, situation, [])
    return grow


def would_remove(situation: Situation, wanted: int) -> list[Machine]:
    """The machines that a pool of `wanted` machines would remove, in the order in which they would go."""
    staying = _staying(situation)
    return _surplus(staying, max(0, len(staying) - wanted))


def _plan_delete(situation: Situation) -> Plan:
    actions = [
        Action(
            id=f"retire/{machine.name}",
            kind=ActionKind.RETIRE,
            machine=machine.name,
            reason=Reason.POOL_DELETING,
            message=f"remove {machine.name}: the pool is being deleted",
        )
        for machine in situation.machines
        if not _leaving(machine, situation)
    ]
    if not situation.machines and not situation.busy:
        actions.append(
            Action(
                id="finish",
                kind=ActionKind.FINISH,
                reason=Reason.POOL_DELETED,
                message="check that nothing is left, then end",
            )
        )
    return Plan(actions=actions)


def _leaving(machine: Machine, situation: Situation) -> bool:
    return machine.leaving or f"retire/{machine.name}" in situation.busy


def _staying(situation: Situation) -> list[Machine]:
    return [machine for machine in situation.machines if not _leaving(machine, situation)]


def _unneeded(spec: PoolSpec, situation: Situation) -> list[Machine]:
    """The machines that the autoscaler wants removed, as far as min allows it: that may have been raised since."""
    staying = _staying(situation)
    asked = sorted((machine for machine in staying if machine.unneeded), key=lambda machine: machine.serial)
    return asked[: max(0, len(staying) - spec.min)]


def _grow(spec: PoolSpec, situation: Situation, wanted: int, staying: int, now: datetime) -> Plan:
    missing = wanted - staying
    if missing <= 0:
        return Plan(actions=[])
    backoff = situation.backoff
    if backoff and not backoff.open(now):
        until = f"until {backoff.until:%H:%M:%S} UTC" if backoff.until else "until the spec or the credential changes"
        note = f"{missing} missing; no create {until}: {backoff.message}"
        return Plan(actions=[], notes=[note], wake_at=backoff.until)
    creating = sum(machine.phase in CREATING for machine in situation.machines)
    coming = sum(machine.phase in BEFORE_READY for machine in situation.machines)
    room = spec.max + SURGE - len(situation.machines)
    # After a failure one machine probes whether the cause is over, so that a full pool does not fail at once.
    allowed = min(missing, room, CREATES_IN_FLIGHT - creating, 1 - coming if backoff else missing)
    notes = []
    if allowed < missing:
        notes.append(f"{missing - max(allowed, 0)} more to add once those in flight have their answer")
    return Plan(actions=[_provision(spec, situation, wanted, staying, i) for i in range(allowed)], notes=notes)


def _provision(spec: PoolSpec, situation: Situation, wanted: int, staying: int, offset: int) -> Action:
    serial = situation.next_serial + offset
    name = machine_name(spec.cluster, spec.name, situation.pool_id, serial)
    return Action(
        id=f"provision/{name}",
        kind=ActionKind.PROVISION,
        machine=name,
        serial=serial,
        reason=Reason.BELOW_SIZE,
        message=f"add {name}: {staying + offset} of {wanted} wanted machines exist",
    )


def _surplus(staying: list[Machine], count: int) -> list[Machine]:
    """The machines to remove first: the least far on their way to Ready, then the newest."""
    order = [*BEFORE_READY, Phase.READY]
    return sorted(staying, key=lambda m: (m.ready is True, order.index(m.phase), -m.serial))[:count]


def _retire(machine: Machine, wanted: int, staying: int) -> Action:
    return Action(
        id=f"retire/{machine.name}",
        kind=ActionKind.RETIRE,
        machine=machine.name,
        reason=Reason.ABOVE_SIZE,
        message=f"remove {machine.name}: {staying} machines exist and {wanted} are wanted",
    )


def _scale_down(machine: Machine) -> Action:
    return Action(
        id=f"retire/{machine.name}",
        kind=ActionKind.RETIRE,
        machine=machine.name,
        reason=Reason.SCALE_DOWN,
        message=f"remove {machine.name}: {machine.unneeded}",
    )


def _syncs(staying: list[Machine], situation: Situation, retiring: list[Action]) -> list[Action]:
    going = {action.machine for action in retiring}
    return [
        Action(
            id=f"sync/{machine.name}",
            kind=ActionKind.SYNC,
            machine=machine.name,
            reason=Reason.NODE_SYNCED,
            message=f"bring labels and taints of {machine.name} into step with the spec",
        )
        for machine in staying
        if machine.phase is Phase.READY and not machine.in_step and machine.name not in going and machine.node_uid
    ]
