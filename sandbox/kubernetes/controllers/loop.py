"""Runs the controllers: soon after something changed that they look at, and at least once a sweep."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from sandbox.clock import Clock
from sandbox.kubernetes.certificates import Authority
from sandbox.kubernetes.controllers.csr import approve_and_sign
from sandbox.kubernetes.controllers.tokens import clean_tokens
from sandbox.kubernetes.errors import ApiError
from sandbox.kubernetes.kinds import SIGNING_REQUESTS, Kind
from sandbox.kubernetes.registry import Registry
from sandbox.kubernetes.store import Change
from sandbox.kubernetes.timing import Timing

_log = logging.getLogger(__name__)
_REST = 0.02  # real seconds between rounds, so that a burst of writes costs one round


class Step(NamedTuple):
    """One controller: what it does, the kinds that wake it, and how often it looks anyway (seconds)."""

    run: Callable[[datetime], None]
    kinds: frozenset[Kind]
    period: float


class Controllers:
    """All control loops of a cluster. `start` needs a running event loop."""

    def __init__(self, registry: Registry, authority: Authority, clock: Clock, timing: Timing) -> None:
        self._clock = clock
        self._steps = _steps(registry, authority, timing)
        self._due = [clock.now()] * len(self._steps)
        self._touched: set[Kind] = set()
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._tick = min(step.period for step in self._steps)
        registry.store.listen(self._note)

    def start(self) -> None:
        """Begin to run."""
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._run()), loop.create_task(self._ticks())]

    async def close(self) -> None:
        """Stop running."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def run_once(self) -> None:
        """One round: the steps that are due, or whose objects changed."""
        touched, self._touched = self._touched, set()
        now = self._clock.now()
        for index, step in enumerate(self._steps):
            if step.kinds & touched or (now - self._due[index]).total_seconds() >= step.period:
                self._due[index] = now
                self._guarded(step, now)

    def _guarded(self, step: Step, now: datetime) -> None:
        """A refused write (say, in a namespace that is going away) must not stop the other controllers."""
        try:
            step.run(now)
        except ApiError as error:
            _log.info("%s: %s", step.run, error.message)

    def _note(self, change: Change) -> None:
        self._touched.add(change.kind)
        self._wake.set()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            self._wake.clear()
            begun = loop.time()
            self.run_once()
            await asyncio.sleep(max(_REST, loop.time() - begun))

    async def _ticks(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                await self._clock.sleep(self._tick)
                self._wake.set()


def _steps(registry: Registry, authority: Authority, timing: Timing) -> list[Step]:
    return [
        Step(lambda now: approve_and_sign(registry, authority, now), frozenset({SIGNING_REQUESTS}), timing.sweep),
        Step(lambda now: clean_tokens(registry, now), frozenset(), timing.token_cleaner_period),
    ]
