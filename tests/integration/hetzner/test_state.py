"""The world outlives its process, and runs by itself on real time."""

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from hcloud import Client

from sandbox.clock import ManualClock, RealClock
from sandbox.hetzner import ServerFacts, create_app, default_cloud, live, serve
from sandbox.hetzner.world import Timings

START = RealClock().now()
ORDER = {"name": "n", "server_type": "cx23", "image": "ubuntu-24.04", "user_data": "#cloud-config"}


def api(url: str, token: str) -> Client:
    return Client(token, api_endpoint=f"{url}/v1", timeout=5, poll_interval=0)


def test_a_restart_goes_on_where_it_was(tmp_path: Path) -> None:
    with live(default_cloud(ManualClock(START), tmp_path)) as before:
        token = before.cloud.token("demo", "admin").value
        made = api(before.url, token).request("POST", "/servers", json=ORDER)
    cloud = default_cloud(ManualClock(START + timedelta(minutes=1)), tmp_path)
    booted: list[ServerFacts] = []
    cloud.on_server_running(booted.append)
    with live(cloud) as after:
        client = api(after.url, token)
        assert client.servers.get_by_id(made["server"]["id"]).status == "running"
        assert [(facts.name, facts.user_data) for facts in booted] == [("n", "#cloud-config")]
        another = client.request("POST", "/servers", json={**ORDER, "name": "m"})
    assert another["server"]["id"] > made["server"]["id"]
    assert another["action"]["id"] > made["action"]["id"]
    assert len(cloud.project("demo").servers) == 2


def test_the_saved_state_is_for_its_owner_only(tmp_path: Path) -> None:
    with live(default_cloud(ManualClock(START), tmp_path)):
        pass
    saved = tmp_path / "hetzner.json"
    assert saved.stat().st_mode & 0o077 == 0
    assert json.loads(saved.read_text())["projects"]["1"]["name"] == "demo"
    assert [path.name for path in tmp_path.iterdir()] == ["hetzner.json"]


async def test_on_real_time_listeners_hear_without_anybody_asking() -> None:
    cloud = default_cloud(RealClock(speed=20), timings=Timings(create=1, start=1))
    running: asyncio.Queue[ServerFacts] = asyncio.Queue()
    cloud.on_server_running(running.put_nowait)
    async with serve(create_app(cloud)) as url:
        client = api(url, cloud.token("demo", "admin").value)
        await asyncio.to_thread(_order, client)
        facts = await asyncio.wait_for(running.get(), timeout=5)
        assert (facts.name, facts.status, facts.public_ipv4) == ("n", "running", "203.0.113.1")


def _order(client: Client) -> Any:
    return client.request("POST", "/servers", json=ORDER)


async def test_the_clock_can_be_moved_over_http_only_when_it_stands_still(lever: Callable[..., Any]) -> None:
    before = lever("GET", "/clock")["now"]
    after = lever("POST", "/clock", {"seconds": 60})["now"]
    assert (before[:19], after[:19]) == ("2026-12-01T08:00:00", "2026-12-01T08:01:00")
