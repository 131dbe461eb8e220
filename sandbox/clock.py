"""The time the simulated world runs on: real time at some speed, or time a test moves by hand.

Everything in the sandbox that waits or stamps asks a `Clock`, so a demonstration can run an hour in a
minute and a test can step over fifteen minutes without waiting.
"""

import asyncio
import heapq
import itertools
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """What the simulators need of time. `now` is always aware and in UTC."""

    def now(self) -> datetime: ...

    async def sleep(self, seconds: float) -> None: ...


class RealClock:
    """Time that runs by itself, `speed` simulated seconds in each real one.

    Raises `ValueError` for a speed that is not positive.
    """

    def __init__(self, speed: float = 1.0) -> None:
        if speed <= 0:
            raise ValueError(f"clock speed must be positive, not {speed}")
        self.speed = speed
        self._origin = datetime.now(UTC)

    def now(self) -> datetime:
        real = datetime.now(UTC)
        if self.speed == 1.0:
            return real
        return self._origin + (real - self._origin) * self.speed

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds) / self.speed)


class ManualClock:
    """Time that stands still until `advance` moves it and wakes whoever slept long enough."""

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise ValueError("the start of a manual clock must carry a time zone")
        self._now = start.astimezone(UTC)
        self._sleepers: list[tuple[datetime, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now(self) -> datetime:
        return self._now

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        due = self._now + timedelta(seconds=seconds)
        heapq.heappush(self._sleepers, (due, next(self._order), woken))
        await woken

    def advance(self, seconds: float) -> None:
        """Move time on and wake, in the order they are due, the sleepers whose time has come.

        Call it on the loop the sleepers run on. Raises `ValueError` when asked to go back.
        """
        if seconds < 0:
            raise ValueError("time only goes forward")
        self._now += timedelta(seconds=seconds)
        while self._sleepers and self._sleepers[0][0] <= self._now:
            _, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)
