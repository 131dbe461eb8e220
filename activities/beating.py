"""Heartbeats beside the work: a single call may take longer than a heartbeat's time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from temporalio import activity

BEAT_S = 4.0  # below a third of the shortest heartbeat timeout


@asynccontextmanager
async def beating(details: Callable[[], object]) -> AsyncIterator[None]:
    """Beat with `details()` while the block runs, so that progress shows and a cancellation arrives."""

    async def beat() -> None:
        while True:
            activity.heartbeat(details())
            await asyncio.sleep(BEAT_S)

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()
