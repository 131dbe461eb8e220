"""Usage accrues exactly once, secrets open only where they were sealed for, events fold and stay bounded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from core.conditions import ConditionType, Finding, merge
from core.errors import PoolsError
from core.events import EVENTS_KEPT, PoolEvent, Reason, record
from core.sealing import PlatformKey, PublicKey
from core.usage import Meter, UsageLine, post

NOW = datetime(2026, 12, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_node_hours_run_from_seen_to_gone_once() -> None:
    meter = Meter(pool_from=NOW)
    meter.server_seen("a", NOW)
    meter.server_seen("a", NOW + HOUR)  # a report that arrives again
    meter.server_seen("b", NOW + HOUR)
    meter.server_gone("a", NOW + 3 * HOUR)
    meter.server_gone("a", NOW + 9 * HOUR)
    meter.server_seen("a", NOW + 9 * HOUR)  # late: the machine is closed
    report = meter.read(NOW + 4 * HOUR)
    assert (report.pool_hours, report.node_hours, report.running) == (4, 3 + 3, 1)
    assert report.projected(NOW + 6 * HOUR).node_hours == 8
    assert report.model_copy(update={"final": True}).projected(NOW + 6 * HOUR).node_hours == 6


def test_ledger_keeps_the_newest_and_the_final_line() -> None:
    meter = Meter(pool_from=NOW)
    lines = [
        UsageLine(pool_id="p", cluster="c", pool="w", report=meter.read(NOW + hours * HOUR)) for hours in (1, 2, 3)
    ]
    final = lines[1].model_copy(update={"report": lines[1].report.model_copy(update={"final": True})})
    ledger: dict[str, UsageLine] = {}
    for line in (lines[1], lines[0], lines[1], final, lines[2]):
        post(ledger, line)
    assert list(ledger.values()) == [final]


def test_sealed_secret_opens_only_for_its_own_name() -> None:
    key = PlatformKey.generate()
    public = PublicKey.from_text(key.public.to_text())
    sealed = public.seal("s3cret" * 10, "acme", "credential", "prod", "v1")
    assert "s3cret" not in sealed.model_dump_json()
    assert PlatformKey.from_pem(key.to_pem()).open(sealed, "acme", "credential", "prod") == "s3cret" * 10
    for organization, kind, name in (
        ("other", "credential", "prod"),
        ("acme", "kubeconfig", "prod"),
        ("acme", "credential", "x"),
    ):
        with pytest.raises(PoolsError, match="cannot be opened"):
            key.open(sealed, organization, kind, name)
    with pytest.raises(PoolsError, match="cannot be opened"):
        key.open(sealed.model_copy(update={"version": "v2"}), "acme", "credential", "prod")
    with pytest.raises(PoolsError, match="cannot be opened") as caught:
        PlatformKey.generate().open(sealed, "acme", "credential", "prod")
    assert key.public.key_id in caught.value.hint


@pytest.mark.parametrize("text", ["", "nonsense", "aGVsbG8=", "ä"])
def test_broken_public_keys_are_refused(text: str) -> None:
    with pytest.raises(PoolsError, match="public key"):
        PublicKey.from_text(text)


def test_broken_private_keys_are_refused() -> None:
    with pytest.raises(PoolsError, match="not a PEM private key"):
        PlatformKey.from_pem(b"nonsense")


def test_events_fold_and_stay_bounded() -> None:
    log: list[PoolEvent] = []
    for minute in range(3):
        record(
            log, PoolEvent(at=NOW + timedelta(minutes=minute), reason=Reason.NODE_WAITING, object="m", message="CNI")
        )
    assert [(event.count, event.first_at) for event in log] == [(3, NOW)]
    for number in range(EVENTS_KEPT + 50):
        record(log, PoolEvent(at=NOW, reason=Reason.SCALED, message=str(number)))
    assert len(log) == EVENTS_KEPT
    assert log[-1].message == str(EVENTS_KEPT + 49)


def test_a_condition_keeps_its_start_while_it_lasts_and_ends_with_its_cause() -> None:
    ready = Finding(type=ConditionType.READY, status=False, reason="MachinesMissing")
    quota = Finding(type=ConditionType.QUOTA_EXCEEDED, status=True, reason="Quota")
    first = merge([], [quota, ready], NOW)
    later = merge(first, [ready], NOW + HOUR)
    assert [c.type for c in first] == [ConditionType.READY, ConditionType.QUOTA_EXCEEDED]
    assert [(c.type, c.since, c.observed_at) for c in later] == [(ConditionType.READY, NOW, NOW + HOUR)]
