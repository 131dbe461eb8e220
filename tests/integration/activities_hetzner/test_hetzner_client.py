"""Clients are never shared between threads, and every kind of failure comes out classified and without secrets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hcloud import Client
from temporalio.exceptions import ApplicationError

from activities.failures import Failure
from activities.keys import KeyActivities
from core import calls
from core.cloud_errors import CloudClass
from sandbox.hetzner.records import Limits
from tests.integration.activities_hetzner.cloud_stage import PROJECT, CloudStage
from tests.integration.activities_hetzner.orders import POOL_OWNER


async def test_no_two_calls_use_one_client_at_a_time(stage: CloudStage) -> None:
    together = threading.Barrier(8, timeout=10)

    def act(client: Client) -> int:
        together.wait()
        return id(client)

    for _ in range(3):
        used = await asyncio.gather(*(stage.cloud.call(stage.tokens.now, act) for _ in range(8)))
        assert len(set(used)) == 8


@pytest.mark.parametrize(
    ("fault", "cls", "code"),
    [
        ({"kind": "reset"}, CloudClass.UNKNOWN, "no_answer"),
        ({"kind": "html", "status": 503}, CloudClass.BUSY, "503"),
        ({"kind": "html", "status": 200}, CloudClass.UNKNOWN, "200"),
        ({"kind": "error", "code": "locked", "status": 423}, CloudClass.BUSY, "locked"),
        ({"kind": "error", "code": "new_to_all", "status": 400}, CloudClass.UNKNOWN, "new_to_all"),
        ({"kind": "error", "code": "unauthorized", "status": 401}, CloudClass.CREDENTIAL, "unauthorized"),
    ],
)
async def test_a_failure_comes_out_classified(
    stage: CloudStage, fault: dict[str, Any], cls: CloudClass, code: str
) -> None:
    stage.fault(**fault)
    failure = await _failure(stage, lambda client: client.servers.get_list())
    assert (failure.failure.cls, failure.failure.code) == (cls, code)


async def test_an_answer_without_sense_leaves_the_outcome_unknown(stage: CloudStage) -> None:
    failure = await _failure(stage, lambda client: client.request("GET", "/servers")["nothing_of_the_kind"])
    assert (failure.failure.cls, failure.failure.code) == (CloudClass.UNKNOWN, "broken_answer")


async def test_a_spent_budget_is_waited_for_and_shows_nothing_of_the_token(stage: CloudStage) -> None:
    spent = Limits(servers=5, primary_ips=5, requests_per_hour=1)
    stage.live.call(lambda cloud: cloud.set_limits(cloud.project("demo"), spent))
    await stage.cloud.call(stage.tokens.now, lambda client: client.servers.get_list())
    call = calls.EnsureKey(project=PROJECT, owner=POOL_OWNER, name="k")
    with pytest.raises(ApplicationError) as caught:
        await stage.run(KeyActivities(stage.cloud, stage.vault).ensure_key, call)
    assert (caught.value.type, caught.value.non_retryable) == (CloudClass.THROTTLED.value, False)
    assert caught.value.next_retry_delay is not None
    assert "requests per hour" in caught.value.message
    assert stage.tokens.now[:8] not in str(caught.value.message) + str(caught.value.details)


async def _failure(stage: CloudStage, act: Callable[[Client], object]) -> Failure:
    with pytest.raises(Failure) as caught:
        await stage.cloud.call(stage.tokens.now, act)
    return caught.value
