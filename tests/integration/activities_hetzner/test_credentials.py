"""Is a token good, and what does the catalogue sell."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from activities.credentials import CredentialActivities
from core import calls
from core.calls import Health
from sandbox.hetzner.cloud import HetznerCloud
from sandbox.hetzner.stock import Deprecation
from tests.integration.activities_hetzner.cloud_stage import PROJECT, SEALED, CloudStage

PROBE = calls.ProbeCredential(organization="acme", name="hetzner", sealed=SEALED)
LOCATIONS = ("fsn1", "nbg1", "hel1")


async def probe(stage: CloudStage) -> calls.Probe:
    return await stage.run(CredentialActivities(stage.cloud, stage.vault).probe_credential, PROBE)


async def test_a_read_write_token_is_valid_and_nothing_is_made(stage: CloudStage) -> None:
    assert (await probe(stage)).health is Health.VALID
    assert stage.live.call(lambda cloud: len(cloud.project("demo").ssh_keys)) == 0


async def test_read_only_and_unknown_tokens_are_invalid_with_their_reason(stage: CloudStage) -> None:
    stage.tokens.now = stage.live.call(lambda cloud: cloud.token("demo", "viewer").value)
    found = await probe(stage)
    assert (found.health, found.reason, "Read & Write" in found.message) == (Health.INVALID, "token_readonly", True)
    stage.tokens.now = "0" * 64
    found = await probe(stage)
    assert (found.health, found.reason) == (Health.INVALID, "unauthorized")
    assert "0000" not in found.message


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "reset"},
        {"kind": "html", "status": 502},
        {"kind": "error", "code": "rate_limit_exceeded", "status": 429},
        {"kind": "error", "code": "maintenance", "status": 403},
        {"kind": "error", "code": "never_heard_of", "status": 400},
    ],
)
async def test_what_says_nothing_of_the_token_leaves_it_unknown(stage: CloudStage, fault: dict[str, object]) -> None:
    stage.fault(**fault)
    assert (await probe(stage)).health is Health.UNKNOWN


async def test_another_refusal_of_the_write_does_not_prove_the_right_to_write(stage: CloudStage) -> None:
    stage.fault(method="POST", path="/ssh_keys", kind="error", code="method_not_allowed", status=405)
    found = await probe(stage)
    assert (found.health, found.reason) == (Health.UNKNOWN, "method_not_allowed")


async def look_up(stage: CloudStage, server_type: str = "cx23") -> calls.Placement:
    call = calls.CheckPlacement(project=PROJECT, location="hel1", server_type=server_type)
    return await stage.run(CredentialActivities(stage.cloud, stage.vault).check_placement, call)


async def test_the_catalogue_names_who_sells_a_type(stage: CloudStage) -> None:
    found = await look_up(stage)
    assert set(LOCATIONS) >= set(found.sold_in) >= {"hel1"}
    assert "ash" in found.known_locations
    unknown = await look_up(stage, "cx99")
    assert (unknown.sold_in, "cx23" in unknown.known_types, "cx99" in unknown.known_types) == ([], True, False)


@pytest.mark.parametrize(
    "size",
    [
        calls.ServerType(name="cx23", cores=2, memory_gb=4, disk_gb=40, architecture="amd64"),
        calls.ServerType(name="cax21", cores=4, memory_gb=8, disk_gb=80, architecture="arm64"),
    ],
    ids=lambda size: size.name,
)
async def test_the_catalogue_tells_a_type_s_size(stage: CloudStage, size: calls.ServerType) -> None:
    assert (await look_up(stage, size.name)).server == size
    assert (await look_up(stage, "cx99")).server is None


async def test_a_type_that_nobody_sells_today_is_known_all_the_same(stage: CloudStage) -> None:
    for location in LOCATIONS:
        stage.live.call(partial(_sell_out, location=location))
    found = await look_up(stage)
    assert (found.sold_in, "cx23" in found.known_types) == ([], True)
    assert "cx23" not in (await look_up(stage, "cx33")).known_types, "as advice it would be of no use"


async def test_a_type_is_sold_until_its_announced_end(stage: CloudStage) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    for last, sold in ((now + timedelta(days=30), True), (now - timedelta(days=1), False)):
        end = Deprecation(announced=now - timedelta(days=60), unavailable_after=last)
        stage.live.call(partial(_announce, end=end))
        assert ("hel1" in (await look_up(stage)).sold_in) == sold


def _sell_out(cloud: HetznerCloud, location: str) -> None:
    cloud.world.stock.set_level("cx23", location, remaining=0)


def _announce(cloud: HetznerCloud, end: Deprecation) -> None:
    cloud.world.stock.deprecate("cx23", "hel1", end)
