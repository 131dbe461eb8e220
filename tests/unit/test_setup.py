"""`make venv` on a fresh clone, and the message where no Python will do."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def make(folder: Path, *arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run make as from a shell that knows nothing of another make."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    environment |= {"PATH": path or environment["PATH"]}
    program = shutil.which("make") or "make"
    return subprocess.run(
        [program, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
    )


def test_without_a_python_the_message_says_what_to_install(tmp_path: Path) -> None:
    """Nothing is made, and the next step is named."""
    tools, project = tmp_path / "tools", tmp_path / "project"
    tools.mkdir()
    project.mkdir()
    (tools / "sh").symlink_to("/bin/sh")
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, project)
    run = make(project, "venv", path=str(tools))
    assert run.returncode != 0
    assert "Python 3.11 or newer" in run.stderr
    assert not (project / ".venv").exists()


@pytest.mark.slow
def test_a_fresh_clone_sets_itself_up_once(tmp_path: Path) -> None:
    """The second time is quick, and `lbr` runs."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True, capture_output=True)
    first = make(clone, "venv")
    assert first.returncode == 0, first.stderr
    version = subprocess.run([clone / ".venv/bin/lbr", "--version"], capture_output=True, text=True, check=False)
    assert version.returncode == 0
    started = time.monotonic()
    assert make(clone, "venv").returncode == 0
    assert time.monotonic() - started < 5
