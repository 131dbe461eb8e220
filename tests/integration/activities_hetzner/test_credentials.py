"""Probes, the catalogue, keys, the shared listing, and the audit."""

from __future__ import annotations

import pytest

from activities.cloud_audit import look_for_leftovers
from activities.credentials import CredentialActivities
from activities.keys import KeyActivities
from activities.listing import ServerListings
from core import calls
from core.calls import Health
from core.cloud_errors import CloudClass
from tests.integration.activities_hetzner.cloud_stage import OWNER, PROJECT, SEALED, CloudStage

PROBE = calls.ProbeCredential(organization="acme", name="hetzner", sealed=SEALED)
POOL_OWNER = OWNER.model_copy(update={"operation_id": ""})


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


async def test_the_catalogue_names_who_sells_a_type(stage: CloudStage) -> None:
    activities = CredentialActivities(stage.cloud, stage.vault)
    call = calls.CheckPlacement(project=PROJECT, location="hel1", server_type="cx23")
    found = await stage.run(activities.check_placement, call)
    assert {"fsn1", "hel1", "nbg1"} >= set(found.sold_in) >= {"hel1"}
    assert "ash" in found.known_locations
    assert (found.cores, found.memory_gb, found.disk_gb, found.architecture) == (2, 4, 40, "x86")
    unknown = await stage.run(activities.check_placement, call.model_copy(update={"server_type": "cx99"}))
    assert (unknown.sold_in, "cx23" in unknown.known_types) == ([], True)


async def test_a_pool_s_key_is_made_once_and_removed(stage: CloudStage) -> None:
    keys = KeyActivities(stage.cloud, stage.vault)
    call = calls.EnsureKey(project=PROJECT, owner=POOL_OWNER, name="k")
    first, second = await stage.run(keys.ensure_key, call), await stage.run(keys.ensure_key, call)
    assert first == second
    foreign = call.model_copy(update={"owner": POOL_OWNER.model_copy(update={"pool_id": "other"})})
    failure, again = await stage.failure(keys.ensure_key, foreign)
    assert (failure.cls, again) == (CloudClass.INVALID, False)
    await stage.run(keys.remove_keys, calls.RemoveKeys(project=PROJECT, owner=foreign.owner))
    assert await stage.run(keys.ensure_key, call) == first, "another pool's removal takes only its own"
    await stage.run(keys.remove_keys, calls.RemoveKeys(project=PROJECT, owner=POOL_OWNER))
    assert stage.live.call(lambda cloud: len(cloud.project("demo").ssh_keys)) == 0


async def test_one_listing_serves_all_who_look(stage: CloudStage) -> None:
    listings = ServerListings(stage.cloud, stage.vault, interval_s=60)
    first = await listings.look(PROJECT)
    assert (first.health, first.generation) == (Health.VALID, 1)
    assert await listings.look(PROJECT) is first
    assert stage.requests("GET", "/servers") == 1


async def test_a_listing_that_fails_proves_nothing(stage: CloudStage) -> None:
    listings = ServerListings(stage.cloud, stage.vault, interval_s=0)
    good = await listings.look(PROJECT)
    stage.fault(method="GET", path="/servers", kind="html", status=502, count=4)
    bad = await listings.look(PROJECT)
    assert (bad.health, bad.refused, bad.servers, bad.generation) == (Health.UNKNOWN, False, good.servers, 1)


async def test_a_revoked_token_is_refused_and_a_rotated_one_is_taken_up_at_the_next_call(stage: CloudStage) -> None:
    listings = ServerListings(stage.cloud, stage.vault, interval_s=0)
    stage.tokens.now = "1" * 64
    refused = await listings.look(PROJECT)
    assert (refused.health, refused.refused) == (Health.INVALID, True)
    stage.tokens.next_token = stage.live.call(lambda cloud: cloud.token("demo", "rotated").value)
    assert (await listings.look(PROJECT)).health is Health.VALID


async def test_the_audit_finds_what_is_left(stage: CloudStage) -> None:
    await stage.run(
        KeyActivities(stage.cloud, stage.vault).ensure_key,
        calls.EnsureKey(project=PROJECT, owner=POOL_OWNER, name="k"),
    )
    cluster = calls.ClusterRef(organization="acme", cluster="prod")
    call = calls.AuditPool(project=PROJECT, cluster=cluster, owner=POOL_OWNER, server_ids=[7])
    left = await stage.cloud.call(stage.tokens.now, lambda client: look_for_leftovers(client, call))
    assert (left.servers, left.primary_ips, len(left.ssh_keys)) == ([], [], 1)
