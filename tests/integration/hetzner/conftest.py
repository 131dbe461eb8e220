"""A fresh cloud on a clock that stands still, served over HTTP, and the real client library talking to it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import requests
from hcloud import Client
from hcloud.images import Image
from hcloud.locations import Location
from hcloud.server_types import ServerType
from hcloud.servers import CreateServerResponse

from sandbox.clock import ManualClock
from sandbox.hetzner import LiveCloud, default_cloud, live

START = datetime(2026, 12, 1, 8, 0, tzinfo=UTC)
BOOTED = 30.0

Connect = Callable[..., Client]
Order = Callable[..., CreateServerResponse]
Ask = Callable[..., requests.Response]


@pytest.fixture
def world() -> Iterator[LiveCloud]:
    with live(default_cloud(ManualClock(START))) as running:
        yield running


@pytest.fixture
def connect(world: LiveCloud) -> Connect:
    """The real client, its own retries switched off: a test sees exactly the replies it provoked."""

    def connect(project: str = "demo", token: str = "admin", timeout: float = 5, retries: int = 0) -> Client:
        value = world.cloud.token(project, token).value
        client = Client(value, api_endpoint=f"{world.url}/v1", timeout=timeout, poll_interval=0)
        client._client._retry_max_retries = retries
        return client

    return connect


@pytest.fixture
def client(connect: Connect) -> Client:
    return connect()


@pytest.fixture
def order(client: Client) -> Order:
    """Order a small server in Nuremberg unless told otherwise."""

    def order(name: str, **more: Any) -> CreateServerResponse:
        wanted: dict[str, Any] = {
            "server_type": ServerType(name="cx23"),
            "image": Image(name="ubuntu-24.04"),
            "location": Location(name="nbg1"),
            **more,
        }
        return client.servers.create(name, **wanted)

    return order


@pytest.fixture
def ask(world: LiveCloud) -> Ask:
    """A bare request, for what the client library would never send."""

    def ask(method: str, path: str, token: str | None = "admin", **more: Any) -> requests.Response:
        headers = {} if token is None else {"Authorization": f"Bearer {_value(world, token)}"}
        return requests.request(method, f"{world.url}/v1{path}", headers=headers, timeout=5, **more)

    return ask


def _value(world: LiveCloud, token: str) -> str:
    """A token of the demo project by name; any other text stands for itself."""
    try:
        return world.cloud.token("demo", token).value
    except KeyError:
        return token


@pytest.fixture
def lever(world: LiveCloud) -> Callable[..., Any]:
    """Pull one of the sandbox's levers and return what it answers."""

    def lever(method: str, path: str, body: Any = None) -> Any:
        response = requests.request(method, f"{world.url}/_sandbox/hetzner{path}", json=body, timeout=5)
        assert response.status_code < 300, response.text
        return response.json() if response.content else None

    return lever
