"""Fifty machines of one pool at once cost a project at most three requests each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from activities.hetzner_client import Cloud
from sandbox.clock import RealClock
from sandbox.hetzner.cloud import default_cloud
from sandbox.hetzner.live import live
from sandbox.hetzner.world import Timings
from tests.integration.activities_hetzner.burst import Burst
from tests.integration.activities_hetzner.cloud_stage import CloudStage, OneToken

MACHINES = 50
# A boot of 14 s seen every 2 s, and a delete of 5 s, all five times as fast.
SPEED = 5
BOOT = Timings(create=5 / SPEED, start=9 / SPEED, delete=5 / SPEED)
POLL_S = 2.0 / SPEED


@pytest.fixture
def stage() -> Iterator[CloudStage]:
    cloud = default_cloud(RealClock(), timings=BOOT)
    with live(cloud) as served:
        client = Cloud(f"{served.url}/v1")
        yield CloudStage(served, client, OneToken(cloud.token("demo", "admin").value))
        client.close()


async def test_a_burst_costs_three_requests_a_machine_up_and_four_down(stage: CloudStage) -> None:
    burst = Burst(stage, MACHINES, POLL_S)
    made, up = await burst.up()
    assert len({server.server_id for server in made}) == len(stage.servers()) == MACHINES
    assert up.by_route["POST /servers"] == MACHINES
    # The pool's key is part of it: a new pool has none yet, and each of its machines looks for it.
    assert up.a_machine <= 3, up
    down = await burst.down(made)
    assert stage.servers() == []
    # A look at whose it is, the delete, and the 404 that proves its end are a machine's own.
    assert 3 <= down.a_machine <= 4, down
