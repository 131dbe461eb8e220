"""A count of changes that callers can wait on, noted from the event loop or from a thread."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Changes:
    """Made in the event loop in which others wait."""

    def __init__(self) -> None:
        self.count = 0
        self._loop = asyncio.get_running_loop()
        self._come = asyncio.Event()

    def note(self) -> None:
        """Something changed."""
        self.count += 1
        self._loop.call_soon_threadsafe(self._come.set)

    async def wait(self, since: int, seconds: float) -> int:
        """Wait until something changed after `since`, at most so long. Returns the count."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.count == since:
                    self._come.clear()
                    await self._come.wait()
        return self.count
