"""`lbr cp pool update`: bounds, scale-down, labels, taints and the freeze."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import click

from core.errors import FieldRefused
from core.spec import PoolPatch, patched
from starter.arguments import (
    PausedCommand,
    cluster_argument,
    label_options,
    paused_option,
    pool_argument,
    scale_down_options,
    wait_options,
    yes_option,
)
from starter.changing import Change, ask_before_removal, show_change, spec_of
from starter.invocation import Invocation, output_options
from starter.labelling import label_changes, taint_changes
from starter.reads import pool_row
from starter.running import run
from starter.session import Session
from workflows.messages import ChangeResult, PreviewRequest

_FIXED = {
    "--credential": "fixed for a pool's life: make a new pool",
    "--location": "fixed for a pool's life: make a new pool",
    "--server-type": "fixed for a pool's life: make a new pool",
    "--initial": "acts once, when a pool is made",
}


def _refuse_fixed(context: click.Context, parameter: click.Parameter, value: object) -> None:
    if value is not None:
        flag = parameter.opts[0]
        hint = (
            "set the size with: lbr cp pool scale"
            if flag == "--initial"
            else "lbr cp pool create, then delete this one"
        )
        raise FieldRefused(flag, _FIXED[flag], hint=hint)


def _fixed_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for flag in _FIXED:
        command = click.option(flag, hidden=True, expose_value=False, callback=_refuse_fixed)(command)
    return command


@click.command(cls=PausedCommand)
@cluster_argument
@pool_argument
@click.option("--min", "floor", type=int, help="The fewest nodes.")
@click.option(
    "--max", "ceiling", type=int, help="The most nodes; below the present size, nodes are drained and removed."
)
@scale_down_options(defaults=False)
@label_options
@paused_option
@click.option("--no-wait", is_flag=True, help="Send the change as a signal: no answer, and no worker is needed now.")
@yes_option
@wait_options
@_fixed_options
@output_options
@click.pass_obj
def update(
    invocation: Invocation,
    *,
    cluster: str,
    pool: str,
    floor: int | None,
    ceiling: int | None,
    scale_down_after: timedelta | None,
    scale_down_threshold: float | None,
    labels: tuple[str, ...],
    taints: tuple[str, ...],
    paused: bool | None,
    no_wait: bool,
    yes: bool,
    wait: bool,
    timeout: timedelta,
) -> None:
    """Change POOL of CLUSTER. What is not given stays as it is.

    `--label KEY-` removes a label, `--taint KEY:EFFECT-` a taint. Credential, location and server type are fixed
    for a pool's life: make a new pool to change them.

    \b
    lbr cp pool update prod workers --max 10
    lbr cp pool update prod workers --scale-down-after 30m --scale-down-threshold 0.3
    lbr cp pool update prod workers --label tier=batch --label old-
    lbr cp pool update prod workers --paused
    """
    if wait and no_wait:
        raise click.UsageError("--wait and --no-wait exclude each other")
    to_set, to_remove = taint_changes(taints)
    patch = PoolPatch(
        min=floor,
        max=ceiling,
        scale_down_after=scale_down_after,
        scale_down_threshold=scale_down_threshold,
        labels=label_changes(labels),
        taints=to_set,
        remove_taints=to_remove,
        paused=paused,
    )
    if patch == PoolPatch():
        raise click.UsageError(
            "nothing to change: give --min, --max, --scale-down-after, --scale-down-threshold, --label, --taint "
            "or --paused"
        )

    async def work(session: Session) -> ChangeResult:
        row = await pool_row(session, cluster, pool)
        patched(spec_of(row), patch)
        if patch.max is not None and patch.max < row.size and not no_wait:
            await ask_before_removal(session, cluster, pool, PreviewRequest(max=patch.max), yes=yes)
        asked = Change(cluster, pool, "update", patch, by_signal=no_wait, wait_for=timeout if wait else None)
        return await asked.send(session, invocation)

    show_change(invocation, cluster, pool, run(invocation, work))
