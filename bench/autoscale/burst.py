"""Pods that come at once: how soon they run, and what that costs in requests, orders and servers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from bench.autoscale.latency import CPU, TYPE
from bench.autoscale.stand import Stand, pod, sandbox
from sandbox.layout import ClusterKind

DEADLINE_S = 300
AFTER_S = 5.0  # how long is watched for servers that nobody needs any more


@dataclass(frozen=True)
class Burst:
    """What came of a burst. Seconds from the first pod's creation; requests and orders to the simulated cloud."""

    first_order_s: float
    last_order_s: float
    all_run_s: float
    servers: int
    requests: int

    def rounded(self) -> dict[str, float]:
        """Figures to keep."""
        return {name: round(value, 2) for name, value in asdict(self).items()}


async def burst(stand: Stand, pods: Sequence[Mapping[str, Any]]) -> Burst:
    """Create `pods`, wait until all run, and see that nothing more is bought. Nothing may have run before."""

    await stand.lever("DELETE", "/requests")
    begun = await stand.create_pods(pods)
    await stand.all_run(len(pods), DEADLINE_S)
    all_run_s = (datetime.now(UTC) - begun).total_seconds()
    requests = len(await stand.requests())
    await asyncio.sleep(AFTER_S)
    orders = [(order.at - begun).total_seconds() for order in await stand.orders()]
    return Burst(min(orders), max(orders), all_run_s, len(orders), requests)


async def measure_burst(kind: ClusterKind, count: int) -> dict[str, float]:
    """So many pods that need a server each."""
    async with sandbox(kind) as stand:
        await stand.pool("elastic", TYPE, high=2 * count)
        await stand.watched(1)
        found = await burst(stand, [pod(f"burst-{number}", CPU) for number in range(count)])
        ready = await stand.ready()
        orders = [order for order in await stand.orders_to("elastic") if order["size"] is not None]
    what = f"burst of {count}, {kind} cluster"
    return {
        f"{what}: to the first order": found.first_order_s,
        f"{what}: to the last order": found.last_order_s,
        f"{what}: until all nodes are Ready and all pods run": found.all_run_s,
        f"{what}: requests to the cloud for each node": found.requests / count,
        f"{what}: decisions that made the pool grow": len(orders),
        f"{what}: servers bought beyond those needed": found.servers - count,
        f"{what}: nodes missing": count - ready,
    }
