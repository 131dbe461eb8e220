"""The two small things that both simulators stand on: their clock and their saved state."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sandbox.clock import ManualClock, RealClock
from sandbox.snapshot import Snapshot

START = datetime(2026, 12, 1, tzinfo=UTC)


async def test_a_manual_clock_wakes_who_is_due_in_order() -> None:
    clock, woken = ManualClock(START), list[float]()

    async def sleeper(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    sleepers = [asyncio.create_task(sleeper(seconds)) for seconds in (30, 10, 20)]
    await asyncio.sleep(0)
    clock.advance(20)
    await asyncio.wait(sleepers, return_when=asyncio.FIRST_COMPLETED)
    assert woken == [10, 20]
    clock.advance(10)
    await asyncio.gather(*sleepers)
    assert woken == [10, 20, 30]
    assert clock.now() == START + timedelta(seconds=30)


def test_a_clock_neither_stands_nor_runs_backwards() -> None:
    with pytest.raises(ValueError, match="positive"):
        RealClock(speed=0)
    with pytest.raises(ValueError, match="forward"):
        ManualClock(START).advance(-1)
    with pytest.raises(ValueError, match="time zone"):
        ManualClock(datetime(2026, 12, 1))


async def test_a_fast_clock_sleeps_briefly_and_moves_far() -> None:
    clock = RealClock(speed=1000)
    before = clock.now()
    await asyncio.wait_for(clock.sleep(60), timeout=5)
    assert clock.now() - before >= timedelta(seconds=59)


async def test_many_changes_are_one_write_and_the_last_one_is_kept(tmp_path: Path) -> None:
    state, dumped, written = {"count": 0}, list[int](), asyncio.Event()

    def dump() -> dict[str, Any]:
        dumped.append(state["count"])
        written.set()
        return dict(state)

    snapshot = Snapshot(tmp_path / "deep" / "state.json", dump)
    assert snapshot.load() is None
    for state["count"] in range(1, 101):
        snapshot.dirty()
    await asyncio.wait_for(written.wait(), timeout=5)
    assert (dumped, snapshot.load()) == ([100], {"count": 100})
    state["count"] = 101
    snapshot.dirty()
    await snapshot.close()
    assert snapshot.load() == {"count": 101}


def test_a_broken_snapshot_is_not_thrown_away(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    for text in ("{", "[]"):
        path.write_text(text)
        with pytest.raises(ValueError, match="does not hold a JSON object"):
            Snapshot(path, dict).load()
        assert path.read_text() == text
