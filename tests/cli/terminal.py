"""Runs a program on a pseudo-terminal of 80 columns and types at its prompts."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

DEADLINE_S = 90
_PROMPT_END = ": "


def run_on_terminal(command: list[str], typed: list[str], environment: dict[str, str]) -> tuple[int, str]:
    """The exit code and everything that the terminal showed. Raises TimeoutError."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
    )
    os.close(slave)
    try:
        shown = _converse(master, list(typed))
        return process.wait(DEADLINE_S), shown
    finally:
        process.kill()
        os.close(master)


def _converse(master: int, pending: list[str]) -> str:
    """Read until the program ends; type the next line whenever the newest output ends like a prompt."""
    shown, answered = "", 0
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        if not select.select([master], [], [], 0.1)[0]:
            continue
        try:
            shown += os.read(master, 65536).decode()
        except OSError:  # the last holder of the other end is gone
            return shown
        if pending and len(shown) > answered and shown.endswith(_PROMPT_END):
            answered = len(shown)
            os.write(master, f"{pending.pop(0)}\n".encode())
    raise TimeoutError(f"the program did not end; it showed: {shown}")
