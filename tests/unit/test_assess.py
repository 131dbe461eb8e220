"""What a pool says of itself: phase and conditions, from the whole situation and nothing remembered."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from core.assess import assess, pool_phase
from core.backoff import after_failure
from core.calls import Health, Probe
from core.cloud_errors import CloudClass, classify
from core.machine import Machine, Phase
from core.planner import Freeze, Situation
from core.sealing import SealedSecret
from core.spec import PoolSpec
from workflows.organization_state import StoredCredential

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
SPEC = PoolSpec(
    organization="acme", cluster="prod", name="w", credential="h", location="hel1", server_type="cx23", min=1, max=5
)


def machines(*phases: Phase, ready: bool | None = True) -> list[Machine]:
    return [
        Machine(name=f"m{i}", serial=i, operation_id=f"o{i}", phase=phase, since=NOW, planned_at=NOW, ready=ready)
        for i, phase in enumerate(phases)
    ]


def situation(table: list[Machine], target: int = 2, **more: object) -> Situation:
    return Situation(pool_id="p", target=target, machines=table, next_serial=9, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("table", "paused", "deleting", "phase"),
    [
        (machines(), False, False, "Provisioning"),
        (machines(Phase.BOOTING, Phase.CREATING), False, False, "Provisioning"),
        (machines(Phase.READY, Phase.BOOTING), False, False, "Scaling"),
        (machines(Phase.READY, Phase.READY), False, False, "Ready"),
        (machines(Phase.READY, Phase.READY, Phase.DRAINING), False, False, "Scaling"),
        (machines(Phase.READY, Phase.READY), True, False, "Paused"),
        (machines(Phase.READY), True, True, "Deleting"),
    ],
)
def test_phase(table: list[Machine], paused: bool, deleting: bool, phase: str) -> None:
    spec = SPEC.model_copy(update={"paused": paused})
    assert pool_phase(spec, situation(table, deleting=deleting)) == phase


def test_a_node_that_is_no_longer_ready_degrades_the_pool_and_an_unknown_one_does_not() -> None:
    one_down = machines(Phase.READY) + machines(Phase.READY, ready=False)
    assert pool_phase(SPEC, situation(one_down)) == "Degraded"
    assert pool_phase(SPEC, situation(machines(Phase.READY, Phase.READY, ready=None))) == "Ready"


def conditions(table: list[Machine], **more: object) -> dict[str, str]:
    health = {"cloud": Health.VALID, "api": Health.VALID, "message": ""} | {
        key: more.pop(key) for key in ("cloud", "api", "message") if key in more
    }
    found = assess(SPEC, situation(table, **more), **health)  # type: ignore[arg-type]
    return {finding.type.value: finding.message for finding in found if finding.status}


@pytest.mark.parametrize(
    ("cls", "condition"),
    [
        (CloudClass.STOCK, "InstanceTypeUnavailable"),
        (CloudClass.QUOTA, "QuotaExceeded"),
        (CloudClass.THROTTLED, "RateLimited"),
        (CloudClass.INVALID, "InvalidSpec"),
        (CloudClass.JOIN, "JoinFailing"),
    ],
)
def test_why_a_pool_does_not_grow_is_a_condition_with_the_next_try(cls: CloudClass, condition: str) -> None:
    found = conditions(machines(Phase.READY), backoff=after_failure(None, cls, "because", NOW))
    assert found[condition].startswith("because; n")


def test_what_freezes_or_blinds_a_pool_is_a_condition() -> None:
    table = machines(Phase.READY, Phase.READY)
    frozen = conditions(table, freeze=Freeze.CREDENTIAL, message="refused")
    assert "lbr cloud-credential rotate h" in frozen["CredentialInvalid"]
    assert "ClusterUnreachable" in conditions(table, api=Health.UNKNOWN)
    assert "CloudUnreachable" in conditions(table, cloud=Health.UNKNOWN, message="502")
    assert list(conditions(table)) == ["Ready"]


@pytest.mark.parametrize(
    ("code", "message", "cls"),
    [
        ("resource_unavailable", "", CloudClass.STOCK),
        ("invalid_input", "unsupported location for server type", CloudClass.STOCK),
        ("invalid_input", "invalid label", CloudClass.INVALID),
        ("resource_limit_exceeded", "server limit exceeded", CloudClass.QUOTA),
        ("rate_limit_exceeded", "", CloudClass.THROTTLED),
        ("token_readonly", "", CloudClass.CREDENTIAL),
        ("uniqueness_error", "", CloudClass.EXISTS),
        ("not_found", "", CloudClass.GONE),
        ("502", "", CloudClass.BUSY),
        ("never_heard_of", "", CloudClass.UNKNOWN),
    ],
)
def test_an_error_code_s_class(code: str, message: str, cls: CloudClass) -> None:
    assert classify(code, message) is cls


def test_a_credential_is_probed_daily_and_sooner_while_its_health_is_unknown() -> None:
    sealed = SealedSecret(key_id="k", version="1", ciphertext="c")
    good = StoredCredential(sealed=sealed, probe=Probe(health=Health.VALID), since=NOW, probed_at=NOW)
    assert good.due_at == NOW + timedelta(hours=24)
    later = good.probed(Probe(health=Health.UNKNOWN), NOW + timedelta(hours=24))
    assert (later.since, later.due_at) == (later.probed_at, later.probed_at + timedelta(minutes=10))
    again = later.probed(Probe(health=Health.UNKNOWN), later.due_at)
    assert again.since == later.since, "since moves only when the health changed"
