"""Asks before something is removed: on a terminal the name must be typed, a script goes ahead."""

from __future__ import annotations

import sys

import click

from core.errors import PoolsError


class NotConfirmed(PoolsError):
    """The name was not typed."""

    code = "NotConfirmed"


def confirm(name: str, *, yes: bool) -> None:
    """Have `name` typed, unless `yes` or there is no terminal to ask on. Raises NotConfirmed."""
    if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    typed = click.prompt(f"type {name} to go on", default="", show_default=False, err=True)
    if typed.strip() != name:
        raise NotConfirmed("not confirmed: nothing was changed", hint="--yes skips the question")
