"""Keeps one simulator's state in a JSON file, so that a restart goes on where the last run stopped."""

import asyncio
import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

DEBOUNCE_SECONDS = 0.5


class Snapshot:
    """Writes what `dump` returns to `path`: whole or not at all, and at most once per debounce interval.

    `dump` must return something JSON can hold. Times are real, whatever clock the simulator runs on.
    """

    def __init__(self, path: Path, dump: Callable[[], dict[str, Any]]) -> None:
        self.path = path
        self._dump = dump
        self._pending: asyncio.Task[None] | None = None
        self._changed = False

    def load(self) -> dict[str, Any] | None:
        """The state last written, or None where there is none yet.

        Raises ValueError for a file that holds no JSON object: state is never silently thrown away.
        """
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            return msgspec.json.decode(text, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise ValueError(f"{self.path} does not hold a JSON object: {error}") from error

    def dirty(self) -> None:
        """Note that the state changed; the running loop writes it soon."""
        self._changed = True
        if self._pending is None or self._pending.done():
            self._pending = asyncio.get_running_loop().create_task(self._write_soon())

    def write(self) -> None:
        """Write the state now: a temporary file beside the target, renamed over it."""
        self._changed = False
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(self.path.name + ".tmp")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(self._dump()))
        temporary.replace(self.path)

    async def close(self) -> None:
        """Stop the debounce and write what is still unwritten."""
        if self._pending is not None:
            self._pending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._pending
        if self._changed:
            self.write()

    async def _write_soon(self) -> None:
        while self._changed:
            await asyncio.sleep(DEBOUNCE_SECONDS)
            self.write()
