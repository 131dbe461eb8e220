"""What is worth telling, and what is known of events that were told."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from core.kube_events import AGAIN, REMEMBERED, About, AboutKind, Ledger, Saying, Told, Written, worth_telling

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
BEFORE = Told("no pool fits", NOW)


@pytest.mark.parametrize(
    ("before", "message", "later", "worth"),
    [
        (None, "no pool fits", timedelta(0), True),
        (BEFORE, "no pool fits", timedelta(0), False),
        (BEFORE, "no pool fits", AGAIN - timedelta(seconds=1), False),
        (BEFORE, "no pool fits", AGAIN, True),
        (BEFORE, "pool a is full", timedelta(0), True),
    ],
)
def test_the_same_is_told_again_after_half_an_hour(
    before: Told | None, message: str, later: timedelta, worth: bool
) -> None:
    assert worth_telling(before, message, NOW + later) is worth


@pytest.mark.parametrize("name", ["a", "a" * 63, "a." * 126 + "a", "a" * 235 + "-.-b" + "c" * 14])
def test_an_events_name_is_one_whatever_its_object_is_called(name: str) -> None:
    said = Saying(About(AboutKind.POD, name, "uid", "default"), "ScaleDown", "m")
    made = said.event("0123456789abcdef", "host", 1, NOW, NOW)["metadata"]["name"]
    assert len(made) <= 253
    assert made.endswith(".0123456789abcdef")
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", made)


def test_the_ledger_forgets_after_an_hour_and_keeps_the_latest() -> None:
    ledger = Ledger(most=2)
    for minute, key in enumerate(("a", "b", "c")):
        ledger.note(key, Written(key, 1, NOW + timedelta(minutes=minute)))
    assert [ledger.find(key, NOW) is not None for key in ("a", "b", "c")] == [False, True, True]
    ledger.note("b", Written("b", 2, NOW + timedelta(minutes=3)))
    end = NOW + timedelta(minutes=2) + REMEMBERED
    assert ledger.find("c", end) is None
    assert ledger.find("b", end) == Written("b", 2, NOW + timedelta(minutes=3))
    assert len(ledger) == 1
