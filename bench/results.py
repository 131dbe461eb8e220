"""Where measurements are kept, with the machine that they were taken on, and what each may take."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Goal:
    """What a figure may be at most; `unit` is '' for plain counts."""

    at_most: float
    unit: str = "s"

    def line(self, name: str, found: float, times: float) -> str:
        """A figure and its limit, as a person reads them."""
        unit = f" {self.unit}" if self.unit else ""
        return f"{name:<66} {found:9.3f}{unit}, at most {self.at_most * times:g}{unit}"


def missed(found: dict[str, float], goals: dict[str, Goal], times: float = 1.0) -> list[str]:
    """Print each figure that has a goal. Returns the names of those above `times` their goal."""
    judged = {name: goals[name] for name in found if name in goals}
    for name, goal in judged.items():
        print(goal.line(name, found[name], times))
    return [name for name, goal in judged.items() if found[name] > goal.at_most * times]


def machine() -> dict[str, Any]:
    """The machine that runs this."""
    return {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}


def keep(name: str, found: dict[str, Any]) -> None:
    """Write results/`name`.json."""
    (FOLDER / f"{name}.json").write_text(json.dumps({"machine": machine(), **found}, indent=2) + "\n")
