"""A count of changes that callers can wait on."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Changes:
    """Noted in the event loop in which others wait."""

    def __init__(self) -> None:
        self.count = 0
        self._come = asyncio.Event()

    def note(self) -> None:
        """Something changed."""
        self.count += 1
        self._come.set()

    async def wait(self, since: int, seconds: float) -> int:
        """Wait until something changed after `since`, at most so long. Returns the count."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.count == since:
                    self._come.clear()
                    await self._come.wait()
        return self.count
