"""How soon a pod that fits nowhere has a server on order: from its creation to POST /servers, one pod at a time."""

from __future__ import annotations

import asyncio
import statistics

from bench.autoscale.stand import Stand, pod, sandbox
from sandbox.layout import ClusterKind

TYPE, CPU = "cx23", "1500m"  # two cores: no second such pod fits
DEADLINE_S = 60
REST_S = 1.0  # until what a new node brings about is over: its token goes, its pool and cluster are told


async def measure_latency(kind: ClusterKind, trials: int) -> dict[str, float]:
    """Seconds at the median and at the 95th percentile, with each trial begun once everything is at rest."""
    async with sandbox(kind) as stand:
        await stand.pool("elastic", TYPE, high=trials)
        await stand.watched(1)
        taken = sorted([await _trial(stand, number) for number in range(trials)])
    cuts = statistics.quantiles(taken, n=20, method="inclusive")
    return {
        f"pod to order, median, {kind} cluster": statistics.median(taken),
        f"pod to order, 95th percentile, {kind} cluster": cuts[18],
        f"pod to order, longest of {trials}, {kind} cluster": taken[-1],
    }


async def _trial(stand: Stand, number: int) -> float:
    await stand.lever("DELETE", "/requests")
    begun = await stand.create_pods([pod(f"trial-{number}", CPU)])
    orders = await stand.until("a server is ordered", stand.orders, DEADLINE_S)
    seconds = (orders[0].at - begun).total_seconds()

    await stand.all_run(number + 1, DEADLINE_S)
    await asyncio.sleep(REST_S)
    return seconds
