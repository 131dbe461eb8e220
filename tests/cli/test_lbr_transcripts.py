"""Plays the golden transcripts against a sandbox: real Temporal, real workflows, simulated cloud and cluster."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path

import pytest
from sandbox_stack import Stack
from terminal import run_on_terminal
from transcript import Normaliser, Run, play, transcripts

from starter.main import main

FOLDER = Path(__file__).with_name("transcripts")
LBR = str(Path(sys.executable).with_name("lbr"))


@pytest.fixture(scope="session")
def normaliser(stack: Stack) -> Normaliser:
    """One for all transcripts, so that a machine keeps its number."""
    return Normaliser(stack.variables)


@pytest.mark.parametrize("path", transcripts(FOLDER), ids=lambda path: path.stem)
def test_transcript(path: Path, stack: Stack, normaliser: Normaliser, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command prints what the transcript says, and no token is in anything that it prints."""
    environment = {"LBR_CONFIG": str(stack.profile), "COLUMNS": "80", "TERM": "xterm", "HOME": str(stack.folder)}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def run(arguments: list[str], typed: list[str], on_terminal: bool) -> Run:
        outcome = _on_terminal(arguments, typed) if on_terminal else _piped(arguments, typed)
        printed = outcome.stdout + outcome.stderr + outcome.terminal
        assert not any(token in printed for token in stack.tokens.values())
        return outcome

    play(path, run, normaliser)


def _piped(arguments: list[str], typed: list[str]) -> Run:
    """In this process: a hundred commands need no hundred interpreters."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in typed)))
        code = main(arguments)
    return Run(code, stdout=out.getvalue(), stderr=err.getvalue())


def _on_terminal(arguments: list[str], typed: list[str]) -> Run:
    code, shown = run_on_terminal([LBR, *arguments], typed, dict(os.environ))
    return Run(code, terminal=shown)
