"""A simulated cloud for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from activities.hetzner_client import Cloud
from sandbox.clock import RealClock
from sandbox.hetzner.cloud import default_cloud
from sandbox.hetzner.live import live
from sandbox.hetzner.world import Timings
from tests.integration.activities_hetzner.cloud_stage import CloudStage, OneToken

QUICK = Timings(create=0.1, start=0.1, delete=0.2)


@pytest.fixture
def stage() -> Iterator[CloudStage]:
    cloud = default_cloud(RealClock(), timings=QUICK)
    with live(cloud) as served:
        client = Cloud(f"{served.url}/v1")
        yield CloudStage(served, client, OneToken(cloud.token("demo", "admin").value))
        client.close()
