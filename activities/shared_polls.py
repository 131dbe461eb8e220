"""Looks at what takes its time, shared: all who look into one project are answered by the same few requests.

Fifty servers that boot, each asked for by itself every two seconds, would cost a project its request budget.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import Generic, TypeVar

from activities.beating import check_shutdown
from activities.failures import Failure
from core.calls import ProjectRef
from core.cloud_errors import CloudClass

Answer = TypeVar("Answer")

CHECK_S = 2.0  # how often who waits asks whether its worker stops
_OF_ONE = (CloudClass.GONE, CloudClass.INVALID)  # a single id may be the reason; the others are not to suffer for it


class SharedPolls(Generic[Answer]):
    """Shares looks within each project.

    `ask` answers for several ids in one request and may leave out what it does not know; it raises Failure or
    ApplicationError, and all whose ids are in the request get that. One request holds `at_once` ids at most, and one
    is sent in `every_s` seconds on average, however many wait: at 2 that is half of what a project's budget refills.
    """

    def __init__(
        self, ask: Callable[[ProjectRef, list[int]], Awaitable[dict[int, Answer]]], every_s: float, at_once: int
    ) -> None:
        self._ask = ask
        self._every_s = every_s
        self._at_once = at_once
        self._rounds: dict[tuple[str, str], _Rounds[Answer]] = {}

    async def look(self, project: ProjectRef, ids: Sequence[int]) -> dict[int, Answer]:
        """What the project's next round finds of `ids`. It begins at once if the one before is long enough ago.

        Raises what `ask` raised, and ApplicationError when the worker is asked to stop meanwhile.
        """
        key = (project.organization, project.credential)
        if key not in self._rounds:
            self._rounds[key] = _Rounds(lambda wanted: self._ask(project, wanted), self._every_s, self._at_once)
        return await self._rounds[key].join(list(ids))


@dataclass(eq=False)
class _Waiter(Generic[Answer]):
    ids: list[int]
    heard: asyncio.Future[dict[int, Answer] | Exception]

    def tell(self, outcome: dict[int, Answer] | Exception) -> None:
        """Answer it, unless it went away meanwhile."""
        if not self.heard.done():
            self.heard.set_result(outcome)


class _Rounds(Generic[Answer]):
    """One project's rounds: a task runs them while somebody waits, and ends when nobody does."""

    def __init__(self, ask: Callable[[list[int]], Awaitable[dict[int, Answer]]], every_s: float, at_once: int) -> None:
        self._ask = ask
        self._every_s = every_s
        self._at_once = at_once
        self._waiting: list[_Waiter[Answer]] = []
        self._not_before = -math.inf
        self._task: asyncio.Task[None] | None = None

    async def join(self, ids: list[int]) -> dict[int, Answer]:
        """The answer of the next round."""
        waiter = _Waiter[Answer](ids, asyncio.get_running_loop().create_future())
        self._waiting.append(waiter)
        if self._task is None:
            # Not in the context of the activity that happens to come first: the rounds outlive it.
            self._task = asyncio.create_task(self._run(), context=Context())
        try:
            return await _heard(waiter)
        finally:
            waiter.heard.cancel()
            if waiter in self._waiting:
                self._waiting.remove(waiter)

    async def _run(self) -> None:
        clock = asyncio.get_running_loop().time
        try:
            while self._waiting:
                await asyncio.sleep(max(0.0, self._not_before - clock()))
                waiting, self._waiting = self._waiting, []
                groups = list(_grouped(waiting, self._at_once))
                self._not_before = clock() + self._every_s * len(groups)
                for group in groups:
                    await self._answer(group)
        finally:
            self._task = None

    async def _answer(self, group: list[_Waiter[Answer]]) -> None:
        outcome: dict[int, Answer] | Exception
        try:
            outcome = await self._ask(sorted({each for waiter in group for each in waiter.ids}))
        except Failure as error:
            if len(group) > 1 and error.failure.cls in _OF_ONE:
                for waiter in group:
                    await self._answer([waiter])
                return
            outcome = error
        except Exception as error:  # whatever it is, it belongs to those who wait and must not leave them waiting
            outcome = error
        for waiter in group:
            waiter.tell(outcome)


async def _heard(waiter: _Waiter[Answer]) -> dict[int, Answer]:
    while True:
        check_shutdown()
        done, _ = await asyncio.wait({waiter.heard}, timeout=CHECK_S)
        if done:
            outcome = waiter.heard.result()
            if isinstance(outcome, Exception):
                raise outcome.with_traceback(None)  # one error is raised by many: do not pile up their traces
            return {each: outcome[each] for each in waiter.ids if each in outcome}


def _grouped(waiting: list[_Waiter[Answer]], at_once: int) -> Iterator[list[_Waiter[Answer]]]:
    """Waiters whose ids fit into one request together; the ids of one are never parted."""
    group: list[_Waiter[Answer]] = []
    held = 0
    for waiter in waiting:
        if group and held + len(waiter.ids) > at_once:
            yield group
            group, held = [], 0
        group.append(waiter)
        held += len(waiter.ids)
    if group:
        yield group
