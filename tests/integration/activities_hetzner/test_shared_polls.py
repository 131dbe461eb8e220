"""Looks are shared: few requests for many who wait, and none of them disturbs another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.failures import Failure
from activities.shared_polls import SharedPolls
from core.calls import ProjectRef
from core.cloud_errors import CloudClass
from tests.integration.activities_hetzner.cloud_stage import PROJECT, eventually

OTHER_PROJECT = ProjectRef(organization="acme", credential="other")


class Asked:
    """Answers each id with itself; `wrong` raises for requests that hold what it dislikes."""

    def __init__(self) -> None:
        self.requests: list[list[int]] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.wrong: Callable[[list[int]], Exception | None] = lambda ids: None

    async def __call__(self, project: ProjectRef, ids: list[int]) -> dict[int, int]:
        self.requests.append(ids)
        await self.may_answer.wait()
        error = self.wrong(ids)
        if error is not None:
            raise error
        return {each: each for each in ids if each > 0}


def looking(polls: SharedPolls[int], *ids: int, project: ProjectRef = PROJECT) -> asyncio.Task[dict[int, int]]:
    async def look(wanted: list[int]) -> dict[int, int]:
        return await polls.look(project, wanted)

    return asyncio.create_task(ActivityEnvironment().run(look, list(ids)))


async def test_who_looks_while_a_round_runs_is_in_the_next_one() -> None:
    asked = Asked()
    polls = SharedPolls(asked, every_s=0.01, at_once=50)
    asked.may_answer.clear()
    first = looking(polls, 1)
    await eventually(lambda: asked.requests == [[1]])
    later = [looking(polls, number, 2) for number in range(3, 13)]
    await asyncio.sleep(0)
    asked.may_answer.set()
    assert await first == {1: 1}
    assert [await each for each in later] == [{number: number, 2: 2} for number in range(3, 13)]
    assert asked.requests == [[1], list(range(2, 13))]


async def test_a_request_holds_no_more_than_it_may_and_parts_no_one_s_ids() -> None:
    asked = Asked()
    polls = SharedPolls(asked, every_s=0.01, at_once=5)
    await asyncio.gather(*(looking(polls, number, number + 1) for number in range(10, 20, 2)))
    assert asked.requests == [[10, 11, 12, 13], [14, 15, 16, 17], [18, 19]]


async def test_rounds_keep_to_the_pace_of_their_requests() -> None:
    asked = Asked()
    polls = SharedPolls(asked, every_s=0.2, at_once=1)
    clock = asyncio.get_running_loop().time
    await asyncio.gather(looking(polls, 1), looking(polls, 2))
    begun = clock()
    await looking(polls, 3)
    assert clock() - begun > 0.3, "two requests were sent, so the next round is two paces later"


async def test_what_the_cloud_does_not_know_is_left_out() -> None:
    polls = SharedPolls(Asked(), every_s=0.01, at_once=50)
    assert await looking(polls, 1, -1) == {1: 1}


async def test_who_is_cancelled_disturbs_nobody() -> None:
    asked = Asked()
    polls = SharedPolls(asked, every_s=0.01, at_once=50)
    asked.may_answer.clear()
    first, second = looking(polls, 1), looking(polls, 2)
    await eventually(lambda: asked.requests == [[1, 2]])
    third, fourth = looking(polls, 3), looking(polls, 4)
    await asyncio.sleep(0)
    for gone in (first, third):
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
    asked.may_answer.set()
    assert (await second, await fourth) == ({2: 2}, {4: 4})
    assert asked.requests == [[1, 2], [4]], "who is gone is not asked for"


async def test_nothing_is_asked_when_nobody_waits_any_more() -> None:
    asked = Asked()
    polls = SharedPolls(asked, every_s=0.05, at_once=50)
    before = asyncio.all_tasks()
    await looking(polls, 1)
    waiting = looking(polls, 2)
    await asyncio.sleep(0)
    waiting.cancel()
    await eventually(lambda: asyncio.all_tasks() <= before)
    assert asked.requests == [[1]]


async def test_what_goes_wrong_with_a_request_is_told_to_all_in_it_and_to_no_one_else() -> None:
    asked = Asked()
    polls = SharedPolls(asked, every_s=0.01, at_once=50)
    asked.wrong = lambda ids: Failure.of(CloudClass.BUSY, "unavailable", "later") if 1 in ids else None
    outcomes = await asyncio.gather(
        looking(polls, 1), looking(polls, 2), looking(polls, 3, project=OTHER_PROJECT), return_exceptions=True
    )
    assert [isinstance(outcome, Failure) for outcome in outcomes] == [True, True, False]
    assert await looking(polls, 2) == {2: 2}


@pytest.mark.parametrize("cls", [CloudClass.GONE, CloudClass.INVALID])
async def test_an_id_that_the_cloud_refuses_fails_only_who_asked_for_it(cls: CloudClass) -> None:
    asked = Asked()
    polls = SharedPolls(asked, every_s=0.01, at_once=50)
    asked.wrong = lambda ids: Failure.of(cls, "not_found", "no such action") if 2 in ids else None
    outcomes = await asyncio.gather(*(looking(polls, each) for each in (1, 2, 3)), return_exceptions=True)
    assert (outcomes[0], isinstance(outcomes[1], Failure), outcomes[2]) == ({1: 1}, True, {3: 3})


async def test_an_error_that_nobody_foresaw_leaves_nobody_waiting() -> None:
    asked = Asked()
    polls = SharedPolls(asked, every_s=0.01, at_once=50)
    asked.wrong = lambda ids: ZeroDivisionError("a slip")
    outcomes = await asyncio.gather(looking(polls, 1), looking(polls, 2), return_exceptions=True)
    assert all(isinstance(outcome, ZeroDivisionError) for outcome in outcomes)


async def test_a_worker_that_stops_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("activities.shared_polls.CHECK_S", 0.01)
    asked = Asked()
    asked.may_answer.clear()
    polls = SharedPolls(asked, every_s=0.01, at_once=50)
    environment = ActivityEnvironment()

    async def look(wanted: list[int]) -> dict[int, int]:
        return await polls.look(PROJECT, wanted)

    wait = asyncio.create_task(environment.run(look, [1]))
    await eventually(lambda: asked.requests == [[1]])
    environment.worker_shutdown()
    with pytest.raises(ApplicationError, match="worker stops"):
        await wait
    asked.may_answer.set()
