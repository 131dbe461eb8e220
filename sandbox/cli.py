"""`lbr sandbox up|down|status`: the embedded world from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import click

from core.errors import PoolsError
from sandbox.launcher import Sandbox
from sandbox.layout import ClusterKind, Layout

_DIRECTORY = click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="The sandbox's folder.  [default: lbr/sandbox in the state folder]",
)


def _sandbox(directory: Path | None, cluster: str | None = None) -> Sandbox:
    layout = Layout(directory.absolute()) if directory else Layout.default()
    kind = ClusterKind(cluster) if cluster else None
    return Sandbox(layout, lambda text: click.echo(f"{text} ...", err=True), kind)


@click.group()
def sandbox() -> None:
    """A whole world on this machine: Temporal, a simulated Hetzner Cloud, a cluster and a worker."""


@sandbox.command()
@_DIRECTORY
@click.option(
    "--cluster",
    type=click.Choice([str(kind) for kind in ClusterKind]),
    help="The Kubernetes API: embedded, or a real control plane (`make control-plane`). Fixed for the folder's life."
    "  [default: what the folder has, else simulated]",
)
def up(directory: Path | None, cluster: str | None) -> None:
    """Start the sandbox in the background, or what of it does not run; its state is kept in its folder."""
    box = _sandbox(directory, cluster)
    box.up()
    _print(box)
    click.echo("\nStop it with: lbr sandbox down" + (f" --dir {directory}" if directory else ""), err=True)


@sandbox.command()
@_DIRECTORY
def down(directory: Path | None) -> None:
    """Stop every process of the sandbox; its folder stays, and the next `up` goes on from there."""
    box = _sandbox(directory)
    stopped = box.down() if box.layout.processes.exists() else []
    click.echo(f"stopped: {', '.join(stopped)}" if stopped else "nothing was running", err=True)


@sandbox.command()
@_DIRECTORY
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def status(directory: Path | None, output: str) -> None:
    """Show what runs, and the addresses and tokens to use. Exits 1 when it does not run."""
    box = _sandbox(directory)
    if not (box.layout.root / "ports.json").exists():
        raise PoolsError(f"there is no sandbox in {box.layout.root}", hint="start one: lbr sandbox up")
    if output == "json":
        click.echo(json.dumps(box.facts(), indent=2))
    else:
        _print(box)
    if sorted(box.processes.running()) != sorted(box.order):
        missing = ", ".join(name for name in box.order if name not in box.processes.running())
        raise PoolsError(f"not running: {missing}", hint="start it: lbr sandbox up")


def _print(box: Sandbox) -> None:
    facts = box.facts()
    tokens, processes = facts.pop("tokens"), facts.pop("processes")
    assert isinstance(tokens, dict)
    assert isinstance(processes, dict)
    rows = {key.replace("_", " "): str(value) for key, value in facts.items() if key != "running"}
    rows |= {f"token {name.replace('_', '-')}": value for name, value in tokens.items()}
    rows |= {f"process {name}": f"pid {pid}" for name, pid in processes.items()}
    width = max(map(len, rows))
    for key, value in rows.items():
        click.echo(f"{key:<{width}}  {value}")
