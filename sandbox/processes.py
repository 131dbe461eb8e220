"""Starts a sandbox's processes in the background, and later ends exactly these."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from core.errors import PoolsError
from sandbox.layout import Layout

STOP_S = 8.0  # how long a process may take to end by itself; what it does is safe against a kill


class Processes:
    """The processes of one sandbox, by name: pid and start time, which together name a process for good."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start `command` detached, its output going to its log."""
        with self._layout.log(name).open("ab") as log:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **environment},
                start_new_session=True,
            )
        self._write({**self._read(), name: [child.pid, _started(child.pid)]})

    def running(self) -> dict[str, int]:
        """The pids of those that run."""
        return {name: pid for name, (pid, born) in self._read().items() if _started(pid) == born != ""}

    def kill(self, name: str) -> None:
        """End one at once, as a crash would."""
        pid = self.running().get(name)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            _until(lambda: name not in self.running(), STOP_S)

    def stop(self, order: Sequence[str]) -> list[str]:
        """End all, in `order`; what does not end by itself is killed. Returns the names of those that ran."""
        stopped = []
        for name in order:
            pid = self.running().get(name)
            if pid is None:
                continue
            os.kill(pid, signal.SIGTERM)
            if not _until(lambda name=name: name not in self.running(), STOP_S):  # type: ignore[misc]
                self.kill(name)
            stopped.append(name)
        self._layout.processes.unlink(missing_ok=True)
        return stopped

    def _read(self) -> dict[str, tuple[int, str]]:
        path = self._layout.processes
        return json.loads(path.read_text()) if path.exists() else {}

    def _write(self, processes: Mapping[str, object]) -> None:
        self._layout.processes.write_text(json.dumps(processes))


def wait_until(what: str, ready: Callable[[], bool], seconds: float, log: Path) -> None:
    """Wait for `ready`. Raises PoolsError naming the log when it does not come about in time."""
    if not _until(ready, seconds):
        raise PoolsError(f"{what} did not start within {seconds:.0f} seconds", hint=f"look into {log}")


def _until(ready: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _started(pid: int) -> str:
    """When the process `pid` started, in whatever form `ps` has it; empty where there is none or a zombie."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # reap it if it is our own child
    answer = subprocess.run(["ps", "-o", "lstart=,stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    text = answer.stdout.strip()
    return "" if not text or text.split()[-1].startswith("Z") else " ".join(text.split()[:-1])
