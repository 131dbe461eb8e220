"""A pool's part in autoscaling: what it tells its cluster of itself, and how it takes in what the cluster orders."""

from __future__ import annotations

from datetime import datetime

from core.autoscale_calls import AutoscaleOrder, Standing
from core.events import Reason
from core.machine import Machine, Phase
from workflows.pool_state import OperationKind, PoolState


def standing(state: PoolState) -> Standing:
    """What the autoscaler must know of the pool now."""
    staying = [machine for machine in state.machines.values() if not machine.leaving]
    target = state.spec.within_bounds(state.target)
    return Standing(
        pool_id=state.pool_id,
        spec=state.spec,
        server=state.server,
        target=target,
        missing=max(0, target - sum(machine.server_id is not None for machine in staying)),
        broken=sorted(m.name for m in staying if m.phase is Phase.READY and m.ready is False),
        leaving=sorted(machine.name for machine in state.machines.values() if machine.leaving),
        backoff=state.backoff,
        frozen=state.credential_refused,
        deleting=state.deleting,
        heard=state.heard,
        aborted_at=state.aborted_at,
        removed_at=state.removed_at,
    )


def is_news(now: Standing, told: Standing | None) -> bool:
    """Whether a decision could turn on what is new. How many servers are missing counts only while none can be made."""
    if told is None:
        return True
    return now.model_copy(update={"missing": told.missing}) != told


def obey(state: PoolState, order: AutoscaleOrder, now: datetime) -> None:
    """Take in an order. The bounds are the pool's: what they, a freeze or a delete forbid is not done."""
    state.heard = max(state.heard, order.number)
    if state.deleting or state.freeze is not None:
        return
    if order.size is not None:
        _resize(state, state.spec.within_bounds(order.size), order.message, now)
    for removal in order.removals:
        machine = state.machines.get(removal.node)
        if machine is not None and _may_go(state, machine):
            machine.unneeded, machine.empty = removal.message, removal.empty
            state.target -= 1
        else:
            # As after any failure some time passes before the next, or the same would be ordered again at once.
            state.aborted_at = now
            state.note(now, Reason.SCALE_DOWN_FAILED, "it is no ready machine that the pool can spare", removal.node)


def keep_unneeded(state: PoolState) -> None:
    """Keep the machines whose removal was ordered and did not start: the order is of this moment and no later one."""
    for machine in state.machines.values():
        if machine.unneeded and not machine.leaving:
            state.keep(machine)


def _may_go(state: PoolState, machine: Machine) -> bool:
    idle = machine.phase is Phase.READY and not machine.unneeded
    busy = f"{OperationKind.RETIRE}/{machine.name}" in state.operations
    return idle and not busy and state.target > state.spec.min


def _resize(state: PoolState, size: int, why: str, now: datetime) -> None:
    if size != state.target:
        state.note(now, Reason.SCALED, f"from {state.target} to {size}: {why}")
        state.target = size
