"""A fresh cloud on a clock that stands still, served over HTTP, and the real client library talking to it."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hcloud import Client

from sandbox.clock import ManualClock
from sandbox.hetzner import LiveCloud, default_cloud, live

START = datetime(2026, 12, 1, 8, 0, tzinfo=UTC)


@pytest.fixture
def world() -> Iterator[LiveCloud]:
    with live(default_cloud(ManualClock(START))) as running:
        yield running


@pytest.fixture
def client(world: LiveCloud) -> Client:
    return connect(world)


def connect(world: LiveCloud, project: str = "demo", token: str = "admin", timeout: float = 5) -> Client:
    """The client's own retries are switched off: each test sees exactly the replies it provoked."""
    value = world.cloud.token(project, token).value
    client = Client(value, api_endpoint=f"{world.url}/v1", timeout=timeout, poll_interval=0)
    client._client._retry_max_retries = 0
    return client
