"""`lbr cp pool describe`: a pool on one page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import click

from core.conditions import Condition
from core.durations import spelled
from core.spec import PoolSpec
from core.views import PoolRow, PoolView
from starter.arguments import cluster_argument, pool_argument
from starter.commands.pool_events import EVENT_COLUMNS
from starter.commands.pool_read import NODE_COLUMNS
from starter.connection import NoWorker
from starter.invocation import Invocation, output_options
from starter.output import Column, Item, say, show_one, table
from starter.reads import pool_row, pool_view
from starter.running import run
from starter.session import Session
from starter.times import age, stamp

EVENTS_SHOWN = 10

CONDITION_COLUMNS: list[Column[Condition]] = [
    Column("TYPE", lambda condition: condition.type.value),
    Column("STATUS", lambda condition: condition.status),
    Column("REASON", lambda condition: condition.reason),
    Column("SINCE", lambda condition: age(condition.since)),
    Column("MESSAGE", lambda condition: condition.message, text=True),
]


@click.command()
@cluster_argument
@pool_argument
@output_options
@click.pass_obj
def describe(invocation: Invocation, cluster: str, pool: str) -> None:
    """Show POOL of CLUSTER in full: spec, conditions, nodes, what happens next and why, the latest events.

    Without a worker the last known row is shown alone.
    """

    async def work(session: Session) -> PoolView | PoolRow:
        try:
            return await pool_view(session, cluster, pool)
        except NoWorker as error:
            row = await pool_row(session, cluster, pool)
            say(f"warning: {error.message}; this is the last known state")
            say(f"hint: {error.hint}")
            return row

    found = run(invocation, work)
    text = _row_text(found) if isinstance(found, PoolRow) else _view_text(found)
    show_one(invocation, found, pool, text)


def _row_text(row: PoolRow) -> str:
    return "\n".join(
        (
            f"Pool:        {row.cluster}/{row.name}",
            f"Phase:       {row.phase}" + (f": {row.message}" if row.message else ""),
            f"Size:        {row.size} ({row.ready} ready, {row.target} wanted; min {row.min}, max {row.max})",
            f"Servers:     {row.server_type} in {row.location}, credential {row.credential}",
            f"Kubernetes:  {row.version or '-'}",
            f"Paused:      {'yes' if row.paused else 'no'}",
            f"Created:     {stamp(row.created_at)} ({age(row.created_at)} ago)",
        )
    )


def _view_text(view: PoolView) -> str:
    labels = ", ".join(f"{key}={value}" for key, value in sorted(view.spec.labels.items()))
    usage = f"{view.usage.pool_hours:.2f} pool hours, {view.usage.node_hours:.2f} node hours"
    return "\n".join(
        (
            _row_text(view.row),
            f"Scale down:  {_scale_down(view.spec)}",
            f"Labels:      {labels or 'none'}",
            f"Taints:      {', '.join(str(taint) for taint in view.spec.taints) or 'none'}",
            f"Usage:       {usage}",
            *_section("Conditions", view.conditions, CONDITION_COLUMNS),
            *_section("Nodes", view.machines, NODE_COLUMNS),
            "",
            "Next:",
            *(f"  {line}" for line in _next(view)),
            *_section(f"Events (the latest {EVENTS_SHOWN})", view.events[-EVENTS_SHOWN:], EVENT_COLUMNS),
        )
    )


def _scale_down(spec: PoolSpec) -> str:
    if spec.scale_down_threshold == 0:
        return "off: no node is below a threshold of 0"
    after = f"for {spelled(spec.scale_down_after)}" if spec.scale_down_after else "at the next decision"
    return f"nodes below {spec.scale_down_threshold * 100:g} % {after}"


def _section(title: str, items: Sequence[Item], columns: Sequence[Column[Item]]) -> list[str]:
    return ["", f"{title}:", *(table(items, columns, indent="  ") or ["  none"])]


def _next(view: PoolView) -> list[str]:
    lines = [f"{action.message} ({action.reason.value})" for action in view.next]
    lines += [f"under way: {operation} of {machine}" for machine, operation in sorted(view.operations.items())]
    if view.backoff is not None:
        lines.append(f"creates pause {_until(view.backoff.until)}: {view.backoff.message}")
    return lines or ["nothing: the pool is as it should be, or waits for what the conditions say"]


def _until(moment: datetime | None) -> str:
    if moment is None:
        return "until the spec or the credential changes"
    return f"for {max(0, int((moment - datetime.now(UTC)).total_seconds()))}s more"
