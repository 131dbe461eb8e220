"""Keeps a cloud moving while nobody asks it anything, so that its listeners hear of events in time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from sandbox.hetzner.cloud import HetznerCloud


@contextlib.asynccontextmanager
async def driven(cloud: HetznerCloud) -> AsyncIterator[None]:
    """Settle the cloud at each moment something is due, and save it when it changed."""
    changed = asyncio.Event()
    cloud.on_change(changed.set)
    task = asyncio.create_task(_drive(cloud, changed), name="hetzner driver")
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await cloud.close()


async def _drive(cloud: HetznerCloud, changed: asyncio.Event) -> None:
    while True:
        cloud.settle()
        cloud.save_soon()
        changed.clear()
        await _until_due_or_changed(cloud, changed)


async def _until_due_or_changed(cloud: HetznerCloud, changed: asyncio.Event) -> None:
    waiters: list[asyncio.Task[object]] = [asyncio.create_task(changed.wait())]
    due = cloud.world.next_due()
    if due is not None:
        seconds = (due - cloud.clock.now()).total_seconds()
        waiters.append(asyncio.create_task(cloud.clock.sleep(seconds)))
    try:
        done, _ = await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiters:
            waiter.cancel()
    for waiter in done:
        waiter.result()
