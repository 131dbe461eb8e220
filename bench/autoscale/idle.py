"""What pools that have nothing to do write into Temporal's histories.

A watch ends every half hour. Here it ends every half minute, so that a minute stands for an hour: nothing else of an
idle pool or cluster goes by the clock. The worker runs in this process, and its workflows outside of the SDK's sandbox,
which would import the constants anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from unittest import mock

from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner

from bench.autoscale.latency import TYPE
from bench.autoscale.stand import Stand, sandbox
from core.autoscale_calls import Autoscale
from core.names import cluster_workflow_id, pool_workflow_id
from sandbox.layout import CLUSTER, ORGANIZATION, ClusterKind
from worker import assembly
from worker.settings import Settings
from workflows import cluster, cluster_autoscale, pool_watch

SCALE = 60  # so many times sooner
HOURS = 2
NODES = 3
SETTLE_S = 10.0


async def measure_idle(kind: ClusterKind) -> dict[str, float]:
    """Events an hour of an idle pool with three nodes, of an empty pool, and of their cluster."""
    async with sandbox(kind, served=False) as stand:
        settings = Settings.load(stand.box.worker_environment())
        async with assembly.world(stand.client, settings) as outside:
            with _quick_watches():
                async with assembly.build_worker(stand.client, outside, settings):
                    await _furnish(stand)
                    return await _count(stand.client)


async def _furnish(stand: Stand) -> None:
    kubeconfig = str(stand.box.layout.kubeconfig)
    await stand.lbr("org", "create", ORGANIZATION)
    await stand.lbr("cp", "register", CLUSTER, "--kubeconfig", kubeconfig, "--join", stand.box.join)
    await stand.credential()
    await stand.pool("standing", TYPE, low=NODES, high=2 * NODES)
    await stand.pool("empty", TYPE, high=2 * NODES)

    async def all_ready() -> bool:
        return await stand.ready() == NODES

    await stand.until(f"{NODES} nodes are Ready", all_ready, 120)
    await stand.watched(2)
    await asyncio.sleep(SETTLE_S)


async def _count(client: Client) -> dict[str, float]:
    ids = {
        f"idle pool of {NODES} nodes": pool_workflow_id(ORGANIZATION, CLUSTER, "standing"),
        "idle pool of none": pool_workflow_id(ORGANIZATION, CLUSTER, "empty"),
        "idle cluster of two pools": cluster_workflow_id(ORGANIZATION, CLUSTER),
    }
    before = {name: await _length(client, workflow_id) for name, workflow_id in ids.items()}
    await asyncio.sleep(HOURS * 3600 / SCALE)
    return {
        f"{name}: events an hour": (await _length(client, workflow_id) - before[name]) / HOURS
        for name, workflow_id in ids.items()
    }


async def _length(client: Client, workflow_id: str) -> int:
    return (await client.get_workflow_handle(workflow_id).describe()).history_length


@contextmanager
def _quick_watches() -> Iterator[None]:
    quick = pool_watch.WATCH_SECONDS / SCALE
    asked = partial(Autoscale, wait_s=Autoscale.model_fields["wait_s"].default / SCALE)
    with (
        mock.patch.object(pool_watch, "WATCH_SECONDS", quick),
        mock.patch.object(cluster, "WATCH_SECONDS", quick),
        mock.patch.object(cluster_autoscale, "Autoscale", asked),
        mock.patch.object(assembly, "workflow_runner", UnsandboxedWorkflowRunner),
    ):
        yield
