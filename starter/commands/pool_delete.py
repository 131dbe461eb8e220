"""`lbr cp pool delete`."""

from __future__ import annotations

from datetime import timedelta

import click

from starter import targets
from starter.arguments import cluster_argument, pool_argument, wait_options, yes_option
from starter.changing import ask_before_removal, show_change
from starter.invocation import Invocation, output_options
from starter.output import say
from starter.reads import pool_row
from starter.running import run
from starter.session import Session
from starter.waiting import following, until_gone
from workflows.messages import ChangeResult, Done, PreviewRequest


@click.command()
@cluster_argument
@pool_argument
@yes_option
@wait_options
@output_options
@click.pass_obj
def delete(invocation: Invocation, *, cluster: str, pool: str, yes: bool, wait: bool, timeout: timedelta) -> None:
    """Delete POOL of CLUSTER: its nodes are drained, its servers deleted, and nothing stays in the account."""

    async def work(session: Session) -> ChangeResult:
        await pool_row(session, cluster, pool)
        await ask_before_removal(session, cluster, pool, PreviewRequest(delete=True), yes=yes)
        target = targets.pool(session.organization, cluster, pool)
        invocation.follow = following(cluster, pool)
        result = await session.update(target, "delete", Done(), ChangeResult)
        if wait:
            await until_gone(session, cluster, pool, timeout)
        return result

    result = run(invocation, work)
    result.message = result.message or ("deleted" if wait else "is being deleted")
    show_change(invocation, cluster, pool, result)
    if not wait:
        say(f"follow it: {following(cluster, pool)}")
