"""Waits for a pool, with a line on standard error for each change and a deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

from core.conditions import ConditionType
from core.errors import NotFound, WaitTimedOut
from core.views import PoolRow, PoolView
from starter.connection import NoWorker
from starter.output import say
from starter.reads import pool_row, pool_view
from starter.session import NoAnswer, Session

POLL_S = 0.5

# Whether the wait is over, and a line that says how things stand.
Look = Callable[[], Awaitable[tuple[bool, str]]]


async def until(look: Look, *, timeout: timedelta, what: str, follow: str) -> None:
    """Look until it is over; say each new line. Raises WaitTimedOut."""
    deadline = time.monotonic() + timeout.total_seconds()
    said = ""
    while True:
        over, line = await _patiently(look)
        if line != said:
            say(line)
            said = line
        if over:
            return
        if time.monotonic() > deadline:
            raise WaitTimedOut(
                f"{what}: not within {_seconds(timeout)}; the work goes on. Last: {said}", hint=f"follow it: {follow}"
            )
        await asyncio.sleep(POLL_S)


async def _patiently(look: Look) -> tuple[bool, str]:
    """One look; a worker that is away or behind is waited for like everything else."""
    try:
        return await look()
    except (NoWorker, NoAnswer) as error:
        return False, f"waiting: {error.message}"


async def until_ready(session: Session, cluster: str, pool: str, timeout: timedelta) -> None:
    """Wait until every wanted machine of a pool is Ready and in step, or until the pool is frozen by request."""

    async def look() -> tuple[bool, str]:
        row = await pool_row(session, cluster, pool)
        settled = row.paused or row.size == row.ready == row.target
        return settled and _at_rest(await pool_view(session, cluster, pool)), _standing(row)

    await until(look, timeout=timeout, what=f"pool {cluster}/{pool} is not ready", follow=following(cluster, pool))


async def until_gone(session: Session, cluster: str, pool: str, timeout: timedelta) -> None:
    """Wait until nothing of a pool is left."""

    async def look() -> tuple[bool, str]:
        try:
            return False, _standing(await pool_row(session, cluster, pool))
        except NotFound:
            return True, f"{cluster}/{pool}: gone, nothing is left"

    await until(look, timeout=timeout, what=f"pool {cluster}/{pool} is not gone", follow=following(cluster, pool))


def following(cluster: str, pool: str) -> str:
    """The command that shows how a pool goes on."""
    return f"lbr cp pool events {cluster} {pool} --watch"


def _at_rest(view: PoolView) -> bool:
    ready = any(condition.type is ConditionType.READY and condition.status for condition in view.conditions)
    return view.spec.paused or (ready and not view.next and not view.operations)


def _standing(row: PoolRow) -> str:
    message = f": {row.message}" if row.message else ""
    return f"{row.cluster}/{row.name}: {row.phase}, {row.ready} of {row.target} ready{message}"


def _seconds(duration: timedelta) -> str:
    return f"{duration.total_seconds():g} s"
