"""One listing for all who look; what is not heard proves nothing."""

from __future__ import annotations

import asyncio

from activities.listing import ServerListings
from core.calls import Health
from tests.integration.activities_hetzner.cloud_stage import PROJECT, CloudStage
from tests.integration.activities_hetzner.orders import create_call, of


async def test_one_listing_serves_all_who_look(stage: CloudStage) -> None:
    listings = ServerListings(stage.cloud, stage.vault, interval_s=60)
    first = await listings.look(PROJECT)
    assert (first.health, first.generation) == (Health.VALID, 1)
    assert await listings.look(PROJECT) is first
    assert stage.requests("GET", "/servers") == 1


async def test_who_looks_at_once_shares_one_request(stage: CloudStage) -> None:
    stage.fault(method="GET", path="/servers", kind="slow", seconds=0.1)
    listings = ServerListings(stage.cloud, stage.vault, interval_s=60)
    seen = await asyncio.gather(*(listings.look(PROJECT) for _ in range(20)))
    assert {listing.generation for listing in seen} == {1}
    assert stage.requests("GET", "/servers") == 1


async def test_a_listing_that_fails_keeps_what_was_known_and_proves_nothing(stage: CloudStage) -> None:
    made = await stage.run(of(stage).create_server, await create_call(stage))
    listings = ServerListings(stage.cloud, stage.vault, interval_s=0)
    good = await listings.look(PROJECT)
    assert (good.servers[made.server_id].name, good.generation) == ("prod-workers-a", 1)
    stage.fault(method="GET", path="/servers", kind="html", status=503)
    bad = await listings.look(PROJECT)
    assert (bad.health, bad.refused, bad.servers, bad.generation) == (Health.UNKNOWN, False, good.servers, 1)


async def test_a_revoked_token_is_refused_and_a_rotated_one_is_taken_up_at_the_next_call(stage: CloudStage) -> None:
    listings = ServerListings(stage.cloud, stage.vault, interval_s=0)
    stage.tokens.now = "1" * 64
    refused = await listings.look(PROJECT)
    assert (refused.health, refused.refused) == (Health.INVALID, True)
    stage.tokens.next_token = stage.live.call(lambda cloud: cloud.token("demo", "rotated").value)
    assert (await listings.look(PROJECT)).health is Health.VALID
