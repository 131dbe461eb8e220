"""The planner's invariants, in every state that can be generated, and its golden decisions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.backoff import Backoff, after_failure
from core.cloud_errors import CloudClass
from core.events import Reason
from core.machine import LEAVING, Machine, Phase, Presence
from core.planner import CREATES_IN_FLIGHT, CREATING, SURGE, Action, ActionKind, Freeze, Situation, plan, would_remove
from core.spec import PoolSpec

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


def spec(low: int, high: int, *, paused: bool = False) -> PoolSpec:
    return PoolSpec(
        organization="acme",
        cluster="prod",
        name="workers",
        credential="h",
        location="hel1",
        server_type="cx23",
        min=low,
        max=high,
        paused=paused,
    )


def machine(
    serial: int, phase: Phase = Phase.READY, *, ready: bool | None = True, in_step: bool = True, unneeded: str = ""
) -> Machine:
    return Machine(
        name=f"m{serial}",
        serial=serial,
        operation_id=f"op{serial}",
        phase=phase,
        since=NOW,
        planned_at=NOW,
        node_uid=f"uid{serial}",
        ready=ready,
        in_step=in_step,
        unneeded=unneeded,
    )


def situation(machines: list[Machine], target: int, **more: object) -> Situation:
    serial = max((m.serial for m in machines), default=-1) + 1
    return Situation(pool_id="pool-1", target=target, machines=machines, next_serial=serial, **more)  # type: ignore[arg-type]


bounds = st.tuples(st.integers(0, 6), st.integers(1, 8)).map(lambda pair: (min(pair), max(pair)))
machines = st.lists(
    st.tuples(
        st.sampled_from([p for p in Phase if p is not Phase.GONE]),
        st.sampled_from([True, False, None]),
        st.sampled_from(["", "", "empty"]),
    ),
    max_size=12,
).map(lambda rows: [machine(i, phase, ready=ready, unneeded=why) for i, (phase, ready, why) in enumerate(rows)])
freezes = st.sampled_from([None, *Freeze])


def of(actions: list[Action], kind: ActionKind) -> list[Action]:
    return [action for action in actions if action.kind is kind]


@given(bounds, machines, st.integers(-3, 15), freezes, st.booleans())
def test_invariants_hold_in_every_state(
    limits: tuple[int, int], table: list[Machine], target: int, freeze: Freeze | None, deleting: bool
) -> None:
    low, high = limits
    wanted = spec(low, high)
    actions = plan(wanted, situation(table, target, freeze=freeze, deleting=deleting), NOW).actions
    creates, retires = of(actions, ActionKind.PROVISION), of(actions, ActionKind.RETIRE)
    staying = [m for m in table if m.phase not in LEAVING]
    assert len({action.id for action in actions}) == len(actions), "ids are unique"
    surplus = [action for action in retires if action.reason is Reason.ABOVE_SIZE]
    assert not (creates and surplus), "never both in one pass"
    if creates:
        assert len(table) + len(creates) <= high + SURGE
        assert sum(m.phase in CREATING for m in table) + len(creates) <= CREATES_IN_FLIGHT
        assert len(staying) - len(retires) + len(creates) <= wanted.within_bounds(target)
        assert not {action.machine for action in creates} & {m.name for m in table}
    if deleting:
        assert {action.machine for action in retires} == {m.name for m in staying}
        return
    if retires:
        assert len(staying) - len(retires) >= low, "never voluntarily below min"
    if freeze:
        assert actions == []


@given(bounds, machines, st.integers(-3, 15))
def test_carried_out_it_converges_and_then_rests(limits: tuple[int, int], table: list[Machine], target: int) -> None:
    wanted = spec(*limits)
    current = list(table)
    for _ in range(40):
        now_planned = plan(wanted, situation(current, target), NOW).actions
        gone = {action.machine for action in of(now_planned, ActionKind.RETIRE)}
        # Between two passes every operation ends: what leaves is gone, what comes up is Ready.
        serials = [action.serial for action in of(now_planned, ActionKind.PROVISION)]
        kept = [m for m in current if m.name not in gone and m.phase not in LEAVING]
        current = [machine(m.serial) for m in kept] + [machine(serial) for serial in serials]
        if not now_planned and len(current) == wanted.within_bounds(target):
            break
    assert len(current) == wanted.within_bounds(target)
    assert plan(wanted, situation(current, target), NOW).actions == []


@given(machines)
def test_unknown_presence_changes_nothing(table: list[Machine]) -> None:
    blind = [
        m.model_copy(update={"server_presence": Presence.UNKNOWN, "node_presence": Presence.UNKNOWN}) for m in table
    ]
    seen = [m.model_copy(update={"server_presence": Presence.PRESENT}) for m in table]
    assert plan(spec(1, 8), situation(blind, 3), NOW) == plan(spec(1, 8), situation(seen, 3), NOW)


def test_raised_min_is_met_at_once() -> None:
    actions = plan(spec(3, 5), situation([machine(0)], target=1), NOW).actions
    assert [a.kind for a in actions] == [ActionKind.PROVISION] * 2
    assert actions[0].message.endswith("1 of 3 wanted machines exist")
    assert len({a.machine for a in actions}) == 2


def test_lowered_max_removes_the_unready_and_the_newest_first() -> None:
    table = [machine(0), machine(1, ready=False), machine(2), machine(3, Phase.BOOTING, ready=None)]
    actions = plan(spec(0, 1), situation(table, target=4), NOW).actions
    assert [a.machine for a in actions] == ["m3", "m1", "m2"]


def test_pause_is_said_and_nothing_starts() -> None:
    ahead = plan(spec(3, 5, paused=True), situation([], target=3, freeze=Freeze.PAUSED), NOW)
    assert ahead.actions == []
    assert ahead.notes == ["frozen: paused; no step starts"]


def test_delete_goes_on_when_paused_and_finishes_only_when_all_is_gone() -> None:
    table = [machine(0), machine(1, Phase.DELETING)]
    ahead = plan(spec(1, 2), situation(table, 1, deleting=True, freeze=Freeze.PAUSED), NOW)
    assert [a.id for a in ahead.actions] == ["retire/m0"]
    assert plan(spec(1, 2), situation([], 1, deleting=True, busy={"retire/m0"}), NOW).actions == []
    assert [a.id for a in plan(spec(1, 2), situation([], 1, deleting=True), NOW).actions] == ["finish"]


def test_backoff_holds_creates_and_says_until_when() -> None:
    backoff = after_failure(None, CloudClass.STOCK, "out of stock", NOW)
    ahead = plan(spec(2, 5), situation([], 2, backoff=backoff), NOW)
    assert (ahead.actions, ahead.wake_at) == ([], NOW + timedelta(minutes=5))
    assert ahead.notes == ["2 missing; no create until 12:05:00 UTC: out of stock"]
    later = plan(spec(2, 5), situation([], 2, backoff=backoff), NOW + timedelta(minutes=6))
    assert len(later.actions) == 1, "one create probes whether the cause is over"


@pytest.mark.parametrize(
    ("cls", "minutes"),
    [
        (CloudClass.STOCK, [5, 10, 20, 30, 30]),
        (CloudClass.QUOTA, [10, 10, 10]),
        (CloudClass.JOIN, [5, 10, 20, 30, 30]),
    ],
)
def test_backoff_grows_by_class(cls: CloudClass, minutes: list[int]) -> None:
    backoff: Backoff | None = None
    now = NOW
    for wait in minutes:
        backoff = after_failure(backoff, cls, "x", now)
        assert backoff.until == now + timedelta(minutes=wait)
        now = backoff.until


def test_failures_in_flight_together_count_once() -> None:
    first = after_failure(None, CloudClass.STOCK, "a", NOW)
    second = after_failure(first, CloudClass.STOCK, "b", NOW + timedelta(seconds=1))
    assert (second.failures, second.until) == (1, first.until)


def test_servers_that_boot_hold_up_no_create_and_those_without_an_answer_do() -> None:
    booting = [machine(serial, Phase.BOOTING, ready=None) for serial in range(20)]
    assert len(plan(spec(0, 50), situation(booting, 50), NOW).actions) == CREATES_IN_FLIGHT
    asked = [machine(serial, Phase.CREATING, ready=None) for serial in range(3)]
    ahead = plan(spec(0, 50), situation(asked, 50), NOW)
    assert len(ahead.actions) == CREATES_IN_FLIGHT - 3
    assert ahead.notes == ["45 more to add once those in flight have their answer"]


def test_invalid_spec_is_not_tried_again() -> None:
    backoff = after_failure(None, CloudClass.INVALID, "unknown image", NOW)
    ahead = plan(spec(1, 1), situation([], 1, backoff=backoff), NOW + timedelta(days=9))
    assert ahead.actions == []
    assert "until the spec or the credential changes" in ahead.notes[0]


def test_out_of_step_nodes_are_synced_unless_they_leave() -> None:
    table = [machine(0, in_step=False), machine(1, in_step=False), machine(2, Phase.BOOTING, in_step=False)]
    actions = plan(spec(0, 3), situation(table, 3), NOW).actions
    assert [a.id for a in actions] == ["sync/m0", "sync/m1"]
    shrinking = plan(spec(0, 3), situation(table, 1), NOW).actions
    assert [a.id for a in shrinking] == ["retire/m2", "retire/m1", "sync/m0"]


def test_the_machines_that_the_autoscaler_names_go_and_no_others() -> None:
    table = [machine(0, unneeded="nothing on it must move"), machine(1), machine(2)]
    ahead = plan(spec(1, 3), situation(table, target=2), NOW)
    assert [(a.id, a.reason) for a in ahead.actions] == [("retire/m0", Reason.SCALE_DOWN)]
    assert ahead.actions[0].message == "remove m0: nothing on it must move"


def test_a_min_that_was_raised_meanwhile_keeps_what_the_autoscaler_named() -> None:
    table = [machine(0, unneeded="empty"), machine(1, unneeded="empty"), machine(2)]
    assert [a.id for a in plan(spec(2, 3), situation(table, target=2), NOW).actions] == ["retire/m0"]
    assert plan(spec(3, 3), situation(table, target=3), NOW).actions == []


@given(bounds, machines, st.integers(0, 12))
def test_the_preview_names_the_machines_that_would_go(
    limits: tuple[int, int], table: list[Machine], wanted: int
) -> None:
    low, high = limits
    size = spec(low, high).within_bounds(wanted)
    table = [machine.model_copy(update={"unneeded": ""}) for machine in table]
    retired = of(plan(spec(low, high), situation(table, size), NOW).actions, ActionKind.RETIRE)
    assert [machine.name for machine in would_remove(situation(table, size), size)] == [a.machine for a in retired]
