"""`lbr cp pool events`: what happened to a pool, once or as it happens."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import click

from core.events import PoolEvent
from core.views import PoolView
from starter import targets
from starter.arguments import cluster_argument, pool_argument
from starter.invocation import Format, Invocation, output_options
from starter.output import Column, say, show_list
from starter.reads import pool_view
from starter.running import run
from starter.session import Session
from starter.times import DURATION, age

WATCH_S = 1.0

EVENT_COLUMNS: list[Column[PoolEvent]] = [
    Column("LAST-SEEN", lambda event: age(event.at)),
    Column("COUNT", lambda event: event.count),
    Column("REASON", lambda event: event.reason.value),
    Column("OBJECT", lambda event: event.object or "-"),
    Column("MESSAGE", lambda event: event.message, text=True),
]


@click.command()
@cluster_argument
@pool_argument
@click.option("--since", type=DURATION, help="Only events of the last while, such as 10m.")
@click.option("--watch", "-w", is_flag=True, help="Go on printing events as they happen, until the pool is gone.")
@output_options
@click.pass_obj
def events(invocation: Invocation, cluster: str, pool: str, since: timedelta | None, watch: bool) -> None:
    """List what happened to POOL of CLUSTER, oldest first."""
    oldest = datetime.now(UTC) - since if since is not None else datetime.min.replace(tzinfo=UTC)
    if watch and invocation.format in (Format.JSON, Format.YAML):
        raise click.UsageError("--watch prints a table; -o json and -o yaml print one document")

    async def work(session: Session) -> list[PoolEvent]:
        view = await pool_view(session, cluster, pool)
        found = [event for event in view.events if event.at >= oldest]
        if watch:
            await _watch(invocation, session, cluster, pool, found)
        return found

    found = run(invocation, work)
    if not watch:
        show_list(invocation, found, EVENT_COLUMNS, lambda event: event.reason.value)
        if not found:
            say("no events in that time")


async def _watch(invocation: Invocation, session: Session, cluster: str, pool: str, found: list[PoolEvent]) -> None:
    """Print `found`, then each event that is new or seen again, the last words of a deleted pool included."""
    target = targets.pool(session.organization, cluster, pool)
    newest = max((event.at for event in found), default=datetime.now(UTC))
    going_on = True
    while True:
        show_list(invocation, found, EVENT_COLUMNS, lambda event: event.reason.value)
        invocation.header = invocation.header and not found
        if not going_on:
            say(f"pool {cluster}/{pool} is gone")
            return
        await asyncio.sleep(WATCH_S)
        going_on = await session.runs(target)
        view = await session.query(target, "describe", PoolView)
        found = [event for event in view.events if event.at > newest]
        newest = max((event.at for event in found), default=newest)
