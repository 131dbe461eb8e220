"""Records the histories that the replay test holds the workflows to.

`python -m tests.workflows.record_histories` writes them.

Run it when workflow code has changed in a new way; keep the old files for as long as workflows that were started
by older code may still run.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment

from core.autoscale_calls import Decided, ExplainObject, Explanation
from core.cloud_errors import CloudClass
from core.machine_calls import Hold
from core.spec import PoolPatch
from core.views import PoolView
from tests.workflows.conftest import TEMPORAL, Stage, stage
from tests.workflows.test_autoscale import cluster, grow, removal
from tests.workflows.test_pool import ready, reasons, until
from worker.attributes import register_search_attributes
from workflows.messages import ChangeResult, Done, PauseRequest, ScaleRequest

Life = Callable[[Stage], Awaitable[None]]

FOLDER = Path(__file__).parents[1] / "histories"


async def live(on: Stage) -> None:
    """A pool that comes up, meets a full project, is changed, paused, held by a budget, and deleted."""
    on.world.fail("create_server", CloudClass.UNKNOWN)
    pool = await on.create(min=1, max=4, initial=2)
    await until(pool, ready(2))
    await on.ask(pool, "update", PoolPatch(labels={"a": "b"}), ChangeResult)
    await on.ask(pool, "pause", PauseRequest(), ChangeResult)
    await pool.signal("scale", {"size": 3})
    await pool.signal("scale", {"size": "many"})
    await pool.signal("pause", {"paused": False})
    await until(pool, ready(3))
    on.world.fail("create_server", CloudClass.QUOTA)
    await on.ask(pool, "scale", ScaleRequest(size=4), ChangeResult)
    await until(pool, lambda seen: seen.backoff is not None)
    on.world.holds = [Hold(pod="default/db", budget="db", message="needs 1")]
    await on.ask(pool, "scale", ScaleRequest(size=2), ChangeResult)
    await until(pool, lambda seen: "DrainWaiting" in reasons(seen))
    on.world.holds = []
    await until(pool, ready(2))
    await on.ask(pool, "delete", Done(), ChangeResult)
    await pool.result()


async def elastic(on: Stage) -> None:
    """A pool that grows for pods, keeps a node that is missed, loses an idle one, and is deleted."""
    pool = await on.create(min=0, max=3)

    async def until_done(decision: Decided, wanted: Callable[[PoolView], bool]) -> PoolView:
        def done(seen: PoolView) -> bool:
            # One that a run took in while it ended is decided again by the next.
            on.world.decisions = on.world.decisions or [decision]
            return wanted(seen)

        seen = await until(pool, done)
        on.world.decisions = []
        return seen

    seen = await until_done(grow("workers", 2, 2), ready(2))
    on.world.stays = "default/web landed on it"
    idle = removal(seen.machines[0].name)
    await until_done(idle, lambda seen: "ScaleDownFailed" in reasons(seen))
    on.world.stays = ""
    await until_done(idle, ready(1))
    await on.ask(cluster(on), "explain", ExplainObject(), Explanation)
    await on.ask(pool, "delete", Done(), ChangeResult)
    await pool.result()


async def record(client: Client, name: str, life: Life, history_limit: int | None) -> None:
    """Live a life and write every history that it leaves, run by run."""
    async with stage(client, history_limit=history_limit) as on:
        await life(on)
        counts: Counter[str] = Counter()
        executions = [each async for each in client.list_workflows(f'LbrOrganization = "{on.organization}"')]
        for execution in [*executions, await on.org.describe()]:
            kind = execution.workflow_type
            counts[kind] += 1
            handle = client.get_workflow_handle(execution.id, run_id=execution.run_id)
            write(FOLDER / f"{name}-{kind}-{counts[kind]}.json", await handle.fetch_history())


def write(path: Path, history: WorkflowHistory) -> None:
    """Write one run's history, without stack traces: they hold paths of this machine and no replay needs them."""
    path.write_text(json.dumps(without_traces(json.loads(history.to_json())), indent=1))


def without_traces(part: Any) -> Any:
    """`part` of a history without any stack trace in it."""
    if isinstance(part, dict):
        return {key: without_traces(value) for key, value in part.items() if key != "stackTrace"}
    return [without_traces(each) for each in part] if isinstance(part, list) else part


async def main() -> None:
    """Record the newest life, in one run and in many. The older ones were recorded by the code of their time."""
    async with await WorkflowEnvironment.start_local(
        data_converter=pydantic_data_converter, dev_server_existing_path=str(TEMPORAL)
    ) as environment:
        await register_search_attributes(environment.client)
        await record(environment.client, "v2-elastic", elastic, None)
        await record(environment.client, "v2-elasticruns", elastic, 60)


if __name__ == "__main__":
    asyncio.run(main())
    os._exit(0)  # the SDK may abort the interpreter's own exit
