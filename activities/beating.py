"""Heartbeats beside the work: a single call may take longer than a heartbeat's time.

Without them a lost worker would be noticed only when the time of the whole attempt is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, TypeVar

from temporalio import activity

from activities.failures import as_application_error
from core.cloud_errors import CloudClass, CloudFailure

Owner = TypeVar("Owner")
In = TypeVar("In")
Out = TypeVar("Out")

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


def beaten(
    act: Callable[[Owner, In], Awaitable[Out]],
) -> Callable[[Owner, In], Coroutine[Any, Any, Out]]:
    """An activity that beats from its start to its end and finishes what it began.

    A cancellation that arrives with a beat does not cut a request off whose outcome would then be unknown.
    """

    @wraps(act)
    async def whole(self: Owner, call: In) -> Out:
        work = asyncio.ensure_future(act(self, call))
        async with beating(lambda: None):
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                return await work

    return whole


def check_shutdown() -> None:
    """End an attempt that only waits once its worker is asked to stop: another worker goes on at once.

    Raises ApplicationError, which Temporal retries.
    """
    if activity.is_worker_shutdown():
        text = "this worker stops; another one goes on"
        raise as_application_error(CloudFailure(cls=CloudClass.UNKNOWN, code="worker_stops", message=text))


async def beat_for(seconds: float) -> None:
    """Wait between two looks, beating, so that a cancellation arrives and a lost worker is noticed.

    Raises ApplicationError when the worker is asked to stop meanwhile.
    """
    while seconds > 0:
        check_shutdown()
        activity.heartbeat()
        step = min(seconds, 2.0)
        await asyncio.sleep(step)
        seconds -= step
