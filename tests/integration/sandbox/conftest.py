"""A whole sandbox for the tests that live through real processes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sandbox.launcher import Sandbox
from sandbox.layout import ClusterKind, Layout
from sandbox.proof import Proof
from tests.kinds import BOTH, programs_or_skip


class Stand:
    """A sandbox, the proof of what is in it, and waiting for its pools."""

    def __init__(self, box: Sandbox) -> None:
        self.box = box
        self.proof = Proof(box)
        tokens = box.facts()["tokens"]
        assert isinstance(tokens, dict)
        self.tokens: dict[str, str] = tokens

    def lbr(self, *words: str, typed: str = "") -> str:
        """Run `lbr`; it must succeed."""
        done = self.box.lbr(*words, typed=typed)
        assert done.returncode == 0, f"lbr {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def pool(self, name: str) -> dict[str, Any]:
        """A pool's row, {} where there is none. Read from the memo, so that it needs no worker."""
        rows = json.loads(self.lbr("cp", "pool", "list", "prod", "-o", "json"))
        return next((row for row in rows if row["name"] == name), {})

    def until(self, what: str, holds: Callable[[], bool], seconds: float = 60) -> None:
        """Wait for `holds`; fails with `what` when it does not come about."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"{what} did not come about; the worker said:\n{self.worker_log()}"
            time.sleep(0.1)

    def worker_log(self) -> str:
        """The end of the worker's log."""
        return self.box.layout.log("worker").read_text()[-3000:]


@pytest.fixture(scope="module", params=BOTH)
def stand(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    """A furnished sandbox with a stored credential, on each kind of cluster."""
    box = Sandbox(Layout(tmp_path_factory.mktemp("sandbox")), cluster=request.param)
    if request.param is ClusterKind.REAL:
        programs_or_skip()
    box.up()
    try:
        built = Stand(box)
        built.lbr("cloud-credential", "create", "hetzner-prod", "--token", "-", typed=built.tokens["read_write"])
        yield built
    finally:
        box.down()
        assert box.processes.running() == {}, "down leaves no process"
