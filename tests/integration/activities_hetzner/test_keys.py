"""A pool's SSH key: made once however many machines ask for it, and removed with the pool alone."""

from __future__ import annotations

import asyncio

from temporalio.testing import ActivityEnvironment

from activities.keys import KeyActivities
from core import calls
from core.cloud_errors import CloudClass
from tests.integration.activities_hetzner.cloud_stage import PROJECT, CloudStage, eventually
from tests.integration.activities_hetzner.orders import POOL_OWNER

ENSURE = calls.EnsureKey(project=PROJECT, owner=POOL_OWNER, name="k")
REMOVE = calls.RemoveKeys(project=PROJECT, owner=POOL_OWNER)
OTHER = POOL_OWNER.model_copy(update={"pool_id": "other"})


def of(stage: CloudStage) -> KeyActivities:
    return KeyActivities(stage.cloud, stage.vault)


def keys_in(stage: CloudStage) -> int:
    return stage.live.call(lambda cloud: len(cloud.project("demo").ssh_keys))


async def test_a_pool_s_key_is_made_once_and_removed_with_its_pool(stage: CloudStage) -> None:
    first = await stage.run(of(stage).ensure_key, ENSURE)
    assert await stage.run(of(stage).ensure_key, ENSURE) == first
    await stage.run(of(stage).remove_keys, REMOVE.model_copy(update={"owner": OTHER}))
    assert await stage.run(of(stage).ensure_key, ENSURE) == first, "another pool's removal takes only its own"
    await stage.run(of(stage).remove_keys, REMOVE)
    assert keys_in(stage) == 0


async def test_another_pool_s_key_of_that_name_is_not_taken(stage: CloudStage) -> None:
    await stage.run(of(stage).ensure_key, ENSURE)
    failure, again = await stage.failure(of(stage).ensure_key, ENSURE.model_copy(update={"owner": OTHER}))
    assert (failure.cls, failure.code, again) == (CloudClass.INVALID, "name_taken", False)


async def test_machines_that_ask_at_once_ask_once(stage: CloudStage) -> None:
    keys = of(stage)
    found = await asyncio.gather(*(ActivityEnvironment().run(keys.ensure_key, ENSURE) for _ in range(20)))
    assert len({seen.key_id for seen in found}) == 1
    assert (stage.requests("GET", "/ssh_keys"), stage.requests("POST", "/ssh_keys")) == (1, 1)
    await stage.run(keys.ensure_key, ENSURE)
    assert stage.requests("GET", "/ssh_keys") == 2, "what was known is not trusted later: somebody may have removed it"


async def test_machines_of_two_workers_share_one_key(stage: CloudStage) -> None:
    stage.fault(method="GET", path="/ssh_keys", kind="slow", seconds=1, count=1)
    slow = asyncio.create_task(ActivityEnvironment().run(of(stage).ensure_key, ENSURE))
    await eventually(lambda: stage.requests("GET", "/ssh_keys") == 1)
    quick = await stage.run(of(stage).ensure_key, ENSURE)
    assert await slow == quick, "it saw no key, was refused its own, and took the one that the other made meanwhile"
    assert (keys_in(stage), stage.requests("POST", "/ssh_keys")) == (1, 2)


async def test_a_key_that_somebody_else_removes_meanwhile_is_removed(stage: CloudStage) -> None:
    await stage.run(of(stage).ensure_key, ENSURE)
    stage.fault(method="DELETE", path="/ssh_keys/{id}", kind="error", code="not_found", status=404, after_commit=True)
    await stage.run(of(stage).remove_keys, REMOVE)
    assert keys_in(stage) == 0
