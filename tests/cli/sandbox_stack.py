"""A whole sandbox for the tests of `lbr`, started and stopped with `lbr` itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

LBR = str(Path(sys.executable).with_name("lbr"))
DEADLINE_S = 60


@dataclass(frozen=True)
class Stack:
    """A running sandbox: its folder, and the tokens of its projects by what they are good for."""

    folder: Path
    tokens: dict[str, str]

    @property
    def profile(self) -> Path:
        """The configuration file that leads to it."""
        return self.folder / "profile.toml"

    @property
    def variables(self) -> dict[str, str]:
        """What transcripts may name."""
        return {"DIR": str(self.folder), **self.tokens}


def start(folder: Path) -> Stack:
    """Start a sandbox in `folder`."""
    _lbr("sandbox", "up", "--dir", str(folder))
    status = json.loads(_lbr("sandbox", "status", "--dir", str(folder), "-o", "json"))
    return Stack(folder, {name.upper(): token for name, token in status["tokens"].items()})


def stop(stack: Stack) -> None:
    """Stop it; it must leave no process."""
    _lbr("sandbox", "down", "--dir", str(stack.folder))


def _lbr(*arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LBR_", "TEMPORAL_"))}
    run = subprocess.run(
        [LBR, *arguments], capture_output=True, text=True, check=False, env=environment, timeout=DEADLINE_S
    )
    assert run.returncode == 0, run.stderr
    return run.stdout
