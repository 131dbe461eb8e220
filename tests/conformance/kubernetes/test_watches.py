"""Watches: from a version on, with selectors, bookmarks, timeouts, and 410 when history is gone."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest_asyncio
from kubernetes.aio import watch

from tests.cluster_world import World

Events = list[dict[str, Any]]


class Watcher:
    """Raw watches, as the wire has them."""

    def __init__(self, world: World, session: aiohttp.ClientSession) -> None:
        self._world = world
        self._session = session

    async def events(self, path: str, **params: str) -> Events:
        """All events until the server ends the watch."""
        headers = {"Authorization": f"Bearer {self._world.token}"}
        params = {"watch": "1", "timeoutSeconds": "1", **params}
        url = self._world.url + path
        async with self._session.get(url, params=params, headers=headers, ssl=False) as response:
            assert response.status == 200, await response.text()
            return [json.loads(line) for line in (await response.text()).splitlines()]


@pytest_asyncio.fixture
async def watcher(world: World) -> AsyncIterator[Watcher]:
    async with aiohttp.ClientSession() as session:
        yield Watcher(world, session)


def shown(events: Events) -> list[tuple[str, str]]:
    return [(e["type"], e["object"]["metadata"].get("name", "")) for e in events]


async def test_a_watch_goes_on_from_a_version(world: World, watcher: Watcher) -> None:
    made = await world.core.create_node({"metadata": {"name": "n1"}})
    version = made.metadata.resource_version
    await world.core.create_node({"metadata": {"name": "n2"}})
    await world.core.delete_node("n1")
    events = await watcher.events("/api/v1/nodes", resourceVersion=version)
    assert [e for e in shown(events) if e[0] != "MODIFIED"] == [("ADDED", "n2"), ("DELETED", "n1")]
    versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in events]
    assert versions == sorted(versions)
    assert versions[0] > int(version)


async def test_without_a_version_the_present_comes_first(world: World, watcher: Watcher) -> None:
    await world.core.create_namespaced_config_map("default", {"metadata": {"name": "m"}})
    events = await watcher.events("/api/v1/namespaces/default/configmaps")
    assert ("ADDED", "m") in shown(events)


async def test_an_object_that_stops_matching_is_deleted_for_the_watch(world: World, watcher: Watcher) -> None:
    made = await world.core.create_namespaced_config_map("default", {"metadata": {"name": "m"}})
    version = made.metadata.resource_version
    for value in ("yes", "no"):
        await world.core.patch_namespaced_config_map("m", "default", {"metadata": {"labels": {"in": value}}})
    events = await watcher.events(
        "/api/v1/namespaces/default/configmaps", resourceVersion=version, labelSelector="in=yes"
    )
    assert shown(events) == [("ADDED", "m"), ("DELETED", "m")]


async def test_a_short_watch_carries_no_bookmark(world: World, watcher: Watcher) -> None:
    made = await world.core.create_namespaced_config_map("default", {"metadata": {"name": "m"}})
    version = made.metadata.resource_version
    path = "/api/v1/namespaces/default/configmaps"
    assert await watcher.events(path, resourceVersion=version, allowWatchBookmarks="true") == []


async def test_initial_events_end_with_a_marked_bookmark(world: World, watcher: Watcher) -> None:
    events = await watcher.events(
        "/api/v1/namespaces",
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
    )
    marked = next(e for e in events if e["type"] == "BOOKMARK")
    assert marked["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert ("ADDED", "default") in shown(events)


async def test_forgotten_history_answers_410_in_the_stream(world: World, watcher: Watcher) -> None:
    world.compact()
    events = await watcher.events("/api/v1/nodes", resourceVersion="1")
    error = events[0]
    assert error["type"] == "ERROR"
    assert (error["object"]["code"], error["object"]["reason"]) == (410, "Expired")
    assert error["object"]["message"].startswith("too old resource version: 1 (")


async def test_the_client_library_follows_a_pod_by_its_node(world: World) -> None:
    seen: list[str] = []

    async def follow() -> None:
        stream = watch.Watch().stream(
            world.core.list_pod_for_all_namespaces, field_selector="spec.nodeName=n1", timeout_seconds=5
        )
        async for event in stream:
            seen.append(f"{event['type']} {event['object'].metadata.name}")
            if event["type"] == "DELETED":
                return

    await world.core.create_node({"metadata": {"name": "n1"}})
    task = asyncio.create_task(follow())
    spec = {"nodeName": "n1", "containers": [{"name": "c", "image": "i:1"}]}
    await world.core.create_namespaced_pod("default", {"metadata": {"name": "p"}, "spec": spec})
    await world.core.create_namespaced_pod("default", {"metadata": {"name": "q"}, "spec": spec | {"nodeName": "n2"}})
    await world.core.delete_namespaced_pod("p", "default", grace_period_seconds=0)
    await asyncio.wait_for(task, 10)
    assert seen[0] == "ADDED p"
    assert seen[-1] == "DELETED p"
    assert not any("q" in line for line in seen)
