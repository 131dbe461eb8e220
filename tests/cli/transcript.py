"""Golden transcripts: what `lbr` prints, word for word, with everything that differs from run to run named.

A transcript is a text file of steps, played in order:

    # a comment
    $ lbr cp pool list prod      run without a terminal
    % lbr cp pool delete prod x  run on a terminal of 80 columns
    < x                          standard input; on a terminal, typed at the next prompt
    > a line on standard output
    ! a line on standard error
    | a line on the terminal
    > ...                        any lines, also none
    = 5                          the exit code, where it is not 0

In a command and in what is typed, `$NAME` and a machine's number, as in `prod-workers-<1>`, stand for what they name.

With LBR_TRANSCRIPTS=write, a block that does not match is replaced by what was printed.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ANY = "..."
WRITE = os.environ.get("LBR_TRANSCRIPTS") == "write"


@dataclass(frozen=True)
class Run:
    """What one command printed. On a terminal both streams are one: `terminal`."""

    code: int
    stdout: str = ""
    stderr: str = ""
    terminal: str = ""


Runner = Callable[[list[str], list[str], bool], Run]


@dataclass
class Step:
    """One command of a transcript and what is expected of it."""

    command: str
    on_terminal: bool
    notes: list[str] = field(default_factory=list)
    typed: list[str] = field(default_factory=list)
    expected: dict[str, list[str]] = field(default_factory=lambda: {">": [], "!": [], "|": []})
    code: int = 0

    def text(self) -> str:
        """The step as it stands in a file."""
        lines = [*self.notes, f"{'%' if self.on_terminal else '$'} {self.command}"]
        lines += [f"< {line}" for line in self.typed]
        lines += [f"{mark} {line}".rstrip() for mark, block in self.expected.items() for line in block]
        lines += [f"= {self.code}"] if self.code else []
        return "\n".join(lines)


def parse(text: str) -> list[Step]:
    """The steps of a transcript."""
    steps: list[Step] = []
    notes: list[str] = []
    for line in text.splitlines():
        mark, _, rest = line.partition(" ")
        if mark in ("$", "%"):
            steps.append(Step(rest, mark == "%", notes))
            notes = []
        elif mark == "=":
            steps[-1].code = int(rest)
        elif mark == "<":
            steps[-1].typed.append(rest)
        elif mark in steps[-1].expected if steps else False:
            steps[-1].expected[mark].append(rest)
        else:
            notes.append(line)
    return steps


def play(path: Path, run: Runner, normaliser: Normaliser) -> None:
    """Play a transcript and compare every step; all differences are raised together at the first step that has any."""
    steps = parse(path.read_text())
    try:
        for step in steps:
            _play_step(step, run, normaliser)
    finally:
        if WRITE:
            path.write_text("\n".join(step.text() for step in steps) + "\n")


def _play_step(step: Step, run: Runner, normaliser: Normaliser) -> None:
    words = [normaliser.expanded(word) for word in shlex.split(step.command)]
    outcome = run(words[1:], [normaliser.expanded(line) for line in step.typed], step.on_terminal)
    printed = {">": outcome.stdout, "!": outcome.stderr, "|": outcome.terminal}
    problems = []
    for mark, text in printed.items():
        lines = normaliser(text).splitlines()
        if not matches(step.expected[mark], lines):
            problems += [f"{mark} expected:", *step.expected[mark], f"{mark} printed:", *lines]
            step.expected[mark] = lines if WRITE else step.expected[mark]
    if outcome.code != step.code:
        problems.append(f"exit code {outcome.code}, expected {step.code}")
        step.code = outcome.code if WRITE else step.code
    assert WRITE or not problems, "\n".join([f"$ {step.command}", *problems])


def matches(expected: list[str], lines: list[str]) -> bool:
    """Whether `lines` are as expected, where `...` stands for any lines."""
    if not expected:
        return not lines
    if expected[0] == ANY:
        return any(matches(expected[1:], lines[skip:]) for skip in range(len(lines) + 1))
    return bool(lines) and expected[0].rstrip() == lines[0].rstrip() and matches(expected[1:], lines[1:])


_PATTERNS = (
    (r"\x1b\[[0-9;]*m", ""),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)", "<time>"),
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<uuid>"),
    (r"(?<![\w.])\d+\.\d+(e-\d+)?(?![\w.])", "<number>"),
    (r"\b[0-9a-f]{12,64}\b", "<hex>"),
    (r"\b(\d{1,3}\.){3}\d{1,3}:\d+", "<address>"),
    (r"\b(\d{1,3}\.){3}\d{1,3}\b", "<ip>"),
    (r"(?<![\w.-])\d+(s|m|h|d|m\d+s)(?![\w.-])", "<age>"),
    (r"\b\d{7,}\b", "<id>"),
)


class Normaliser:
    """Names what differs from run to run: times, ids, addresses; machines are counted in the order of appearance."""

    def __init__(self, variables: dict[str, str]) -> None:
        self._variables = variables
        self._machines: dict[str, int] = {}

    def __call__(self, text: str) -> str:
        """`text` with stable names, and with columns two spaces apart, since widths vary with what is in them."""
        for name, value in self._variables.items():
            text = text.replace(value, f"${name}")
        text = re.sub(r"\b(prod-[a-z]+)-([b-z2-9]{5})\b", self._machine, text.replace("\r\n", "\n"))
        for pattern, name in _PATTERNS:
            text = re.sub(pattern, name, text)
        return re.sub(r"(?<=\S) {2,}(?=\S)", "  ", text)

    def expanded(self, text: str) -> str:
        """`text` with values for the names of variables, and with the names of machines for their numbers."""
        for name, value in self._variables.items():
            text = text.replace(f"${name}", value)
        for machine, number in self._machines.items():
            text = text.replace(f"{machine.rpartition('-')[0]}-<{number}>", machine)
        return text

    def _machine(self, match: re.Match[str]) -> str:
        number = self._machines.setdefault(match[0], len(self._machines) + 1)
        return f"{match[1]}-<{number}>"


def transcripts(folder: Path) -> list[Path]:
    """The transcripts of a folder, in the order in which they are played."""
    return sorted(folder.glob("*.txt"))
