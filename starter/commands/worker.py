"""`lbr worker`: the process that runs workflows and activities."""

from __future__ import annotations

import importlib

import click


@click.command()
def worker() -> None:
    """Run a worker in the foreground until it is interrupted.

    Its settings come from the environment; see the operator's guide.
    """
    importlib.import_module("worker.main").main()
