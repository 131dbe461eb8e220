"""Shell completion: commands, options, and live names where a sandbox runs; silence where nothing answers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lbr_runner import Lbr

LBR = str(Path(sys.executable).with_name("lbr"))


def completions(words: str) -> list[str]:
    """What bash is offered after `words`, whose last one is being typed."""
    environment = {**os.environ, "_LBR_COMPLETE": "bash_complete", "COMP_WORDS": words}
    environment["COMP_CWORD"] = str(len(words.split(" ")) - 1)
    run = subprocess.run([LBR], capture_output=True, text=True, env=environment, check=True, timeout=30)
    assert run.stderr == ""
    return [line.partition(",")[2] for line in run.stdout.splitlines() if line]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(lbr: Lbr, shell: str) -> None:
    """The script calls `lbr` back through the variable that completion listens to."""
    result = lbr("completion", shell)
    assert result.code == 0
    assert f"_LBR_COMPLETE={shell}_complete" in result.stdout


def test_bash_takes_the_script() -> None:
    """It defines a completion for `lbr`."""
    script = f'source <("{LBR}" completion bash) && complete -p lbr'
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split()[-1] == "lbr"


@pytest.mark.usefixtures("lbr")
def test_commands_and_options_are_offered() -> None:
    """From the tables and the commands themselves."""
    assert completions("lbr cp pool d") == ["describe", "delete"]
    assert "--server-type" in completions("lbr cp pool create --")
    assert completions("lbr cp list -o y") == ["yaml"]


@pytest.mark.usefixtures("lbr")
def test_names_are_left_out_where_nothing_answers() -> None:
    """Without a message in the middle of the line that is being typed."""
    assert completions("lbr cp pool describe ") == []
    assert completions("lbr cloud-credential delete ") == []
