"""Arguments and options that several commands share, with their completion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from core.durations import spelled
from core.spec import SCALE_DOWN_AFTER, SCALE_DOWN_THRESHOLD
from starter.live_names import complete_cluster, complete_pool
from starter.times import DURATION

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

cluster_argument = click.argument("cluster", shell_complete=complete_cluster)
pool_argument = click.argument("pool", shell_complete=complete_pool)
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask on a terminal.")
paused_option = click.option(
    "--paused",
    type=bool,
    metavar="[true|false]",
    help="Freeze the pool: no scaling, no repair, no upgrade. --paused=false ends the freeze.",
)
token_option = click.option(
    "--token",
    metavar="VALUE",
    help="The token; `-` reads it from standard input. Without --token and --token-file a terminal asks for it.",
)
token_file_option = click.option("--token-file", type=click.Path(path_type=Path), help="A file that holds the token.")


def wait_options(command: Decorated) -> Decorated:
    """Add `--wait` and `--timeout`."""
    wait = click.option("--wait", is_flag=True, help="Wait until it is done; each change is a line on standard error.")
    timeout = click.option(
        "--timeout",
        type=DURATION,
        default="20m",
        show_default=True,
        help="How long --wait waits; then exit 6, while the work goes on.",
    )
    return wait(timeout(command))


def label_options(command: Decorated) -> Decorated:
    """Add `--label` and `--taint`, both repeatable."""
    label = click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="A node label. May be repeated.")
    taint = click.option(
        "--taint", "taints", multiple=True, metavar="KEY=VALUE:EFFECT", help="A node taint. May be repeated."
    )
    return label(taint(command))


def scale_down_options(*, defaults: bool) -> Callable[[Decorated], Decorated]:
    """Add `--scale-down-after` and `--scale-down-threshold`; without `defaults` they are None where not given."""
    after = click.option(
        "--scale-down-after",
        type=DURATION,
        default=spelled(SCALE_DOWN_AFTER) if defaults else None,
        show_default=defaults,
        help="How long a node must be below the threshold without a break until it goes; 0s: with the next decision.",
    )
    threshold = click.option(
        "--scale-down-threshold",
        type=float,
        default=SCALE_DOWN_THRESHOLD if defaults else None,
        show_default=defaults,
        help="A node may go when less than this share of its cpu and of its memory is asked for, DaemonSets counted; "
        "0 keeps every node.",
    )
    return lambda command: after(threshold(command))


class PausedCommand(click.Command):
    """A command whose `--paused` means `--paused=true`, so that it never takes the next word for its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse with a bare `--paused` spelled out."""
        return super().parse_args(ctx, ["--paused=true" if word == "--paused" else word for word in args])
