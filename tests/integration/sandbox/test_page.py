"""The page that users read: every command on it, as it stands, against a sandbox."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from sandbox.demo import NOTHING
from tests.integration.sandbox.conftest import Stand

PAGE = Path(__file__).parents[3] / "docs/managed-node-pools.md"
BIN = Path(sys.executable).parent
TOKENS = {"<hetzner-api-token>": "read_write", "<new-token>": "second"}
# What ends the page's story: shown in the middle of it, possible only when the pools are gone.
LAST = ["lbr cp pool delete prod workers", "lbr cloud-credential delete hetzner-prod"]


def commands() -> list[str]:
    """The page's commands, continuation lines joined, in its order."""
    joined = re.sub(r"\\\n\s*", "", PAGE.read_text())
    return [line.strip() for line in joined.splitlines() if re.match(r"\s*lbr ", line)]


def shell(stand: Stand, command: str) -> str:
    """Run a command as a user's shell would; it must succeed. A `# comment` is the shell's own business."""
    for placeholder, name in TOKENS.items():
        command = command.replace(placeholder, stand.tokens[name])
    environment = {
        **os.environ,
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "LBR_CONFIG": str(stand.box.layout.profile),
        "KUBECONFIG": str(stand.box.layout.kubeconfig),
    }
    done = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_the_page_has_the_commands_that_are_run() -> None:
    found = commands()
    assert len(found) == 11
    assert set(LAST) <= set(found)


def test_every_command_of_the_page_works_as_it_stands(stand: Stand) -> None:
    stand.lbr("cloud-credential", "delete", "hetzner-prod")  # the page stores it itself
    for command in commands():
        if command not in LAST:
            shell(stand, command)
    stand.until("the first machine", lambda: stand.pool("workers").get("ready") == 1)
    assert (stand.pool("workers")["max"], stand.pool("batch")["size"]) == (10, 0)
    assert re.search(r"prod-workers-\w{5} +Ready", shell(stand, "kubectl get nodes"))
    listed = json.loads(shell(stand, "lbr cloud-credential list -o json"))
    assert [(row["name"], row["health"]) for row in listed] == [("hetzner-prod", "Valid")]
    shell(stand, "lbr cp pool delete prod batch --wait")
    shell(stand, LAST[0] + " --wait")
    shell(stand, LAST[1])
    assert stand.proof.left() == NOTHING
