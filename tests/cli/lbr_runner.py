"""Runs command lines of `lbr` in the tests' own process."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.sealing import PlatformKey
from starter.main import main


@dataclass(frozen=True)
class Result:
    """How one run of `lbr` ended."""

    stdout: str
    stderr: str
    code: int


@dataclass
class Lbr:
    """Runs command lines in this process, with its own configuration file and without a terminal."""

    capture: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def __call__(self, *arguments: str, stdin: str = "") -> Result:
        self.monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        self.capture.readouterr()
        code = main(arguments)
        out, err = self.capture.readouterr()
        return Result(out, err, code)


def write_profile(path: Path, key: PlatformKey, address: str) -> Path:
    """A configuration file with one profile."""
    path.write_text(
        "[profile.test]\n"
        'organization = "acme"\n'
        f'temporal_address = "{address}"\n'
        f'public_key = "{key.public.to_text()}"\n'
    )
    return path
