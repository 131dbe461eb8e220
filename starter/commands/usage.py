"""`lbr usage`: what was metered."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from core.usage import UsageLine
from starter import targets
from starter.invocation import Invocation, output_options
from starter.output import Column, say, show_list
from starter.running import run
from starter.session import Session
from workflows.messages import UsageView

COLUMNS: list[Column[UsageLine]] = [
    Column("CLUSTER", lambda line: line.cluster),
    Column("POOL", lambda line: line.pool),
    Column("POOL-HOURS", lambda line: f"{line.report.pool_hours:.2f}"),
    Column("NODE-HOURS", lambda line: f"{line.report.node_hours:.2f}"),
    Column("STATE", lambda line: "ended" if line.report.final else "running"),
    Column("POOL-ID", lambda line: line.pool_id, wide=True),
]


@click.command()
@output_options
@click.pass_obj
def usage(invocation: Invocation) -> None:
    """Show metered hours of pool management and of managed nodes, deleted pools included.

    Nothing is billed during early access.
    """

    async def work(session: Session) -> UsageView:
        return await session.query(targets.organization(session.organization), "usage", UsageView)

    now = datetime.now(UTC)
    view = run(invocation, work)
    lines = [line.model_copy(update={"report": line.report.projected(now)}) for line in view.lines]
    show_list(invocation, lines, COLUMNS, lambda line: line.pool_id)
    if lines:
        pool_hours = sum(line.report.pool_hours for line in lines)
        node_hours = sum(line.report.node_hours for line in lines)
        say(f"in all: {pool_hours:.2f} pool hours, {node_hours:.2f} node hours")
    else:
        say("nothing was metered yet: no pool was made")
