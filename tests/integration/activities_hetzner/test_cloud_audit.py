"""What is left of a pool in its project is found, at a price that its past does not raise."""

from __future__ import annotations

from hcloud.locations import Location

from activities.cloud_audit import CloudLeftovers, look_for_leftovers
from core import calls
from core.ownership import pool_labels
from tests.integration.activities_hetzner.cloud_stage import PROJECT, CloudStage
from tests.integration.activities_hetzner.orders import POOL_OWNER, create_call, of

OTHER = POOL_OWNER.model_copy(update={"pool_id": "other"})


async def audit(stage: CloudStage, *server_ids: int, owner: calls.Owner = POOL_OWNER) -> CloudLeftovers:
    cluster = calls.ClusterRef(organization="acme", cluster="prod")
    call = calls.AuditPool(project=PROJECT, cluster=cluster, owner=owner, server_ids=list(server_ids))
    return await stage.cloud.call(stage.tokens.now, lambda client: look_for_leftovers(client, call))


async def test_a_server_its_addresses_and_its_key_are_found_by_their_owner_alone(stage: CloudStage) -> None:
    made = await stage.run(of(stage).create_server, await create_call(stage))
    left = await audit(stage)
    assert (left.servers, len(left.primary_ips), len(left.ssh_keys)) == ([made.server_id], 2, 1)
    assert await audit(stage, owner=OTHER) == CloudLeftovers([], [], [])


async def test_a_server_that_lost_its_labels_is_found_by_its_id(stage: CloudStage) -> None:
    made = await stage.run(of(stage).create_server, await create_call(stage))
    path = f"/servers/{made.server_id}"
    await stage.cloud.call(stage.tokens.now, lambda client: client.request("PUT", path, json={"labels": {}}))
    assert (await audit(stage)).servers == []
    left = await audit(stage, made.server_id)
    assert (left.servers, len(left.primary_ips)) == ([made.server_id], 2)


async def test_an_address_with_our_labels_is_found_without_a_server(stage: CloudStage) -> None:
    address = await stage.cloud.call(
        stage.tokens.now,
        lambda client: client.primary_ips.create(
            type="ipv4", name="kept", location=Location(name="hel1"), labels=pool_labels(POOL_OWNER)
        ),
    )
    assert (await audit(stage)).primary_ips == [address.primary_ip.id]
    assert (await audit(stage, owner=OTHER)).primary_ips == []


async def test_a_long_past_costs_no_more_requests_than_a_short_one(stage: CloudStage) -> None:
    await audit(stage, *range(1, 2001))
    assert stage.requests("GET", "*") == 3
