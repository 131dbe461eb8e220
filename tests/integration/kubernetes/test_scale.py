"""A large cluster loads and lists quickly, and any cluster starts at once."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from kubernetes.aio import client

from sandbox.clock import RealClock
from sandbox.kubernetes import REAL, Cluster, serve_cluster

IN_FLIGHT = 20
AMOUNTS = {"cpu": "8", "memory": "16Gi", "pods": "110"}


async def each(count: int, work: Callable[[int], Awaitable[Any]]) -> None:
    """Do something for each number, several at a time."""
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await work(number)

    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))


async def test_a_cluster_starts_within_a_second(tmp_path: Path) -> None:
    begun = time.monotonic()
    async with serve_cluster(Cluster(RealClock(), tmp_path), tls=True):
        assert time.monotonic() - begun < 1


@pytest.mark.slow
async def test_a_thousand_nodes_and_five_thousand_pods(tmp_path: Path) -> None:
    cluster = Cluster(RealClock(), tmp_path, timing=REAL)
    async with serve_cluster(cluster) as url:
        settings = client.Configuration(host=url, api_key={"authorization": f"Bearer {cluster.admin_token}"})
        async with client.ApiClient(settings) as api:
            core = client.CoreV1Api(api)

            async def node(number: int) -> None:
                ready = {"conditions": [{"type": "Ready", "status": "True"}]}
                status = {"capacity": AMOUNTS, "allocatable": AMOUNTS, **ready}
                await core.create_node_without_preload_content({"metadata": {"name": f"n{number}"}, "status": status})

            async def pod(number: int) -> None:
                requests = {"requests": {"cpu": "500m", "memory": "256Mi"}}
                spec = {"containers": [{"name": "c", "image": "i:1", "resources": requests}]}
                body = {"metadata": {"name": f"p{number}", "labels": {"app": f"a{number % 50}"}}, "spec": spec}
                await core.create_namespaced_pod_without_preload_content("default", body)

            begun = time.monotonic()
            await each(1000, node)
            await each(5000, pod)
            assert time.monotonic() - begun < 30
            begun = time.monotonic()
            raw = await (await core.list_pod_for_all_namespaces_without_preload_content()).read()
            assert time.monotonic() - begun < 0.5
            assert len(json.loads(raw)["items"]) == 5000
