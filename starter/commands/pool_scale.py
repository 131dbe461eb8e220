"""`lbr cp pool scale`: a size, once."""

from __future__ import annotations

from datetime import timedelta

import click

from core.spec import check_size
from starter.arguments import cluster_argument, pool_argument, wait_options
from starter.changing import Change, preview, show_change, spec_of
from starter.invocation import Invocation, output_options
from starter.reads import pool_row
from starter.running import run
from starter.session import Session
from workflows.messages import ChangeResult, PreviewRequest, ScaleRequest


@click.command()
@cluster_argument
@pool_argument
@click.argument("size", type=int)
@click.option("--reason", default="", metavar="TEXT", help="Why, for the pool's events.")
@click.option("--no-wait", is_flag=True, help="Send the size as a signal: no answer, and no worker is needed now.")
@wait_options
@output_options
@click.pass_obj
def scale(
    invocation: Invocation,
    *,
    cluster: str,
    pool: str,
    size: int,
    reason: str,
    no_wait: bool,
    wait: bool,
    timeout: timedelta,
) -> None:
    """Set POOL of CLUSTER to SIZE nodes, once; the size must be inside the pool's bounds."""
    if wait and no_wait:
        raise click.UsageError("--wait and --no-wait exclude each other")

    async def work(session: Session) -> ChangeResult:
        row = await pool_row(session, cluster, pool)
        check_size(spec_of(row), size)
        if size < row.size and not no_wait:
            await preview(session, cluster, pool, PreviewRequest(max=size))
        request = ScaleRequest(size=size, reason=reason)
        asked = Change(cluster, pool, "scale", request, by_signal=no_wait, wait_for=timeout if wait else None)
        return await asked.send(session, invocation)

    show_change(invocation, cluster, pool, run(invocation, work))
