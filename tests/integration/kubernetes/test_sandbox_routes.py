"""The sandbox's own routes: the version, the request log, spoilt answers, ended watches."""

import json
from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio
from kubernetes.aio import client

from tests.cluster_world import World


@pytest_asyncio.fixture
async def admin(world: World) -> AsyncIterator[aiohttp.ClientSession]:
    base = f"{world.url}/_sandbox/kubernetes/"
    async with aiohttp.ClientSession(base, connector=aiohttp.TCPConnector(ssl=False)) as session:
        yield session


async def test_the_version_is_read_and_raised(world: World, admin: aiohttp.ClientSession) -> None:
    async with admin.put("version", json={"version": "v1.35.1+k3s1"}) as answer:
        assert await answer.json() == {"version": "v1.35.1+k3s1"}
    assert (await client.VersionApi(world.api).get_code()).git_version == "v1.35.1+k3s1"
    async with admin.put("version", json={"version": "newest"}) as answer:
        assert answer.status == 400


async def test_requests_are_counted(world: World, admin: aiohttp.ClientSession) -> None:
    await world.core.list_node()
    async with admin.get("requests") as answer:
        seen = await answer.json()
    assert seen["counts"]["GET nodes 200"] == 1
    assert seen["last"][-1]["user"] == "kubernetes-admin"


async def test_answers_are_spoilt_as_often_as_asked(world: World, admin: aiohttp.ClientSession) -> None:
    for code in (429, 503):
        async with admin.post("api-faults", json={"path": "/api/v1/nodes", "code": code}) as answer:
            assert answer.status == 201
    for code in (429, 503):
        with pytest.raises(client.ApiException) as caught:
            await world.core.list_node()
        assert caught.value.status == code
        assert ("Retry-After" in caught.value.headers) is (code == 429)
    assert (await world.core.list_node()).items == []


async def test_an_answer_can_be_lost_after_the_write(world: World, admin: aiohttp.ClientSession) -> None:
    await admin.post("api-faults", json={"method": "POST", "code": 504, "after_commit": True})
    with pytest.raises(client.ApiException):
        await world.core.create_node({"metadata": {"name": "n"}})
    assert [node.metadata.name for node in (await world.core.list_node()).items] == ["n"]


async def test_a_clock_that_runs_by_itself_is_not_moved(admin: aiohttp.ClientSession) -> None:
    async with admin.put("clock", json={"advance": 60}) as answer:
        assert answer.status == 409


async def test_the_version_can_be_raised_while_running(world: World) -> None:
    version = client.VersionApi(world.api)
    assert (await version.get_code()).git_version == "v1.34.1+k3s1"
    world.cluster.version = "v1.35.0"
    assert (await version.get_code()).git_version == "v1.35.0"


async def test_bookmarks_carry_the_version(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.kubernetes.watching.BOOKMARK_PERIOD", 0.2)
    made = await world.core.create_namespaced_config_map("default", {"metadata": {"name": "m"}})
    version = made.metadata.resource_version
    params = {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": "1"}
    headers = {"Authorization": f"Bearer {world.token}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        answer = await session.get(f"{world.url}/api/v1/configmaps", params=params, ssl=False)
        events = [json.loads(line) async for line in answer.content]
    assert {event["type"] for event in events} == {"BOOKMARK"}
    assert int(events[0]["object"]["metadata"]["resourceVersion"]) >= int(version)


async def test_a_continue_token_does_not_outlive_its_history(world: World) -> None:
    for number in range(3):
        await world.core.create_node({"metadata": {"name": f"n{number}"}})
    first = await world.core.list_node(limit=2)
    await world.core.create_node({"metadata": {"name": "n3"}})
    world.compact()
    with pytest.raises(client.ApiException) as caught:
        await world.core.list_node(limit=2, _continue=first.metadata._continue)
    assert (caught.value.status, json.loads(caught.value.body)["reason"]) == (410, "Expired")
