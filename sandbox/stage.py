"""How the demo shows itself: headings, the commands it runs, live progress, and claims that are checked."""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from core.errors import NotFound, PoolsError
from sandbox.launcher import BIN, Sandbox
from sandbox.layout import CLUSTER

View = dict[str, Any]

LOOK_S = 0.4  # between two looks at a pool that is on its way


class Claimed(PoolsError):
    """A claim of the demo did not hold."""

    code = "ClaimFailed"


class Stage:
    """Prints the story, and fails it as soon as a claim does not hold."""

    def __init__(self, box: Sandbox) -> None:
        self.box = box
        self.console = Console(highlight=False, soft_wrap=True)
        self.claims = 0
        self._begun = time.monotonic()

    def heading(self, text: str) -> None:
        """Begin a chapter."""
        self.console.print(f"\n[bold]{text}[/bold]  [dim]{time.monotonic() - self._begun:.0f} s[/dim]")

    def say(self, text: str) -> None:
        """A line of the story."""
        self.console.print(f"  {text}", markup=False)

    def lbr(self, *words: str, typed: str = "", quiet: bool = False) -> str:
        """Run `lbr`, print the command and what it prints; returns its data. Raises Claimed when it fails."""
        if not quiet:
            self.console.print(f"  $ lbr {shlex.join(words)}", style="cyan", markup=False)
        done = self.box.lbr(*words, typed=typed)
        if not quiet:
            for line in (done.stdout + done.stderr).splitlines():
                self.console.print(f"    {line}", style="dim", markup=False)
        if done.returncode != 0:
            raise Claimed(f"`lbr {shlex.join(words)}` ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def kubectl(self, *words: str) -> None:
        """Run `kubectl` on the sandbox's cluster, print the command and what it prints. Raises Claimed."""
        self.console.print(f"  $ kubectl {shlex.join(words)}", style="cyan", markup=False)
        command = [str(BIN / "kubectl"), "--kubeconfig", str(self.box.layout.kubeconfig), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for line in (done.stdout + done.stderr).splitlines():
            self.console.print(f"    {line}", style="dim", markup=False)
        if done.returncode != 0:
            raise Claimed(f"`kubectl {shlex.join(words)}` ended with {done.returncode}: {done.stderr.strip()}")

    def claim(self, text: str, holds: bool) -> None:
        """Print a claim that was just checked. Raises Claimed when it does not hold."""
        if not holds:
            raise Claimed(f"not true: {text}")
        self.claims += 1
        self.console.print(f"  [green]✓[/green] {text}")

    def pool(self, pool: str) -> View:
        """The pool as `describe` tells it; empty once there is none."""
        done = self.box.lbr("cp", "pool", "describe", CLUSTER, pool, "-o", "json")
        if done.returncode not in (0, NotFound.exit_code):
            raise Claimed(f"`lbr cp pool describe` ended with {done.returncode}: {done.stderr.strip()}")
        view: View = json.loads(done.stdout) if done.returncode == 0 else {}
        return view

    def watch(self, pool: str, until: Callable[[View], bool], seconds: float) -> View:
        """Show the pool's machines until `until` holds of it. Raises Claimed when the time is over."""
        deadline = time.monotonic() + seconds
        if not self.console.is_terminal:
            return self._watch_lines(pool, until, deadline)
        with Live(console=self.console, auto_refresh=False) as live:
            while True:
                view = self.pool(pool)
                live.update(_table(view), refresh=True)
                if until(view):
                    return view
                self._go_on(pool, deadline)

    def _watch_lines(self, pool: str, until: Callable[[View], bool], deadline: float) -> View:
        shown: set[str] = set()
        while True:
            view = self.pool(pool)
            for row in map(_cells, view.get("machines", [])):
                line = "  ".join(row[:4])
                if line not in shown:
                    shown.add(line)
                    self.say("  ".join(row))
            if until(view):
                return view
            self._go_on(pool, deadline)

    def _go_on(self, pool: str, deadline: float) -> None:
        if time.monotonic() > deadline:
            events = self.lbr("cp", "pool", "events", CLUSTER, pool, quiet=True)
            raise Claimed(f"pool {pool} did not get there in time; its events:\n{events}")
        time.sleep(LOOK_S)


def _table(view: View) -> Table:
    if not view:
        return Table(title="the pool is gone", title_justify="left", box=None)
    row = view["row"]
    title = f"pool {row['cluster']}/{row['name']}: {row['phase']}, {row['ready']} of {row['target']} ready"
    table = Table(title=title, title_justify="left", pad_edge=False, box=None)
    for column in ("machine", "phase", "server", "version", "ready after"):
        table.add_column(column)
    for machine in view["machines"]:
        table.add_row(*_cells(machine))
    return table


def _cells(machine: dict[str, Any]) -> tuple[str, ...]:
    after = machine["ready_after_s"]
    server = str(machine["server_id"] or "-")
    return machine["name"], machine["phase"], server, machine["version"] or "-", f"{after:.1f} s" if after else "-"
