"""The connection to Temporal, and whether anybody works behind it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.envconfig import ClientConfig, ClientConnectConfig

from core.errors import PoolsError
from starter.profile import Profile
from workflows.messages import TASK_QUEUE

CONNECT_S = 10.0
_POLL_ANSWERED = timedelta(seconds=75)  # a worker's poll is held for 60 s at most, then renewed


class Unreachable(PoolsError):
    """The Temporal server does not answer."""

    code = "TemporalUnreachable"


class NoWorker(PoolsError):
    """Temporal answers, but no worker takes the work."""

    code = "NoWorker"


def settings(profile: Profile) -> ClientConnectConfig:
    """Where and how to connect: Temporal's own environment and file come before the profile."""
    config = ClientConfig.load_client_connect_config()
    config.setdefault("target_host", profile.temporal_address)
    config.setdefault("namespace", profile.temporal_namespace)
    return config


async def connect(profile: Profile) -> Client:
    """A client for `profile`'s server. Raises Unreachable."""
    config = settings(profile)
    try:
        async with asyncio.timeout(CONNECT_S):
            return await Client.connect(**config, data_converter=pydantic_data_converter)
    except (RuntimeError, TimeoutError) as error:  # what the SDK raises for a connection that does not come about
        origin = f" (profile {profile.name!r} of {profile.source})" if profile.source else ""
        raise Unreachable(
            f"Temporal does not answer at {config['target_host']}{origin}",
            hint="start a sandbox with `lbr sandbox up`, or give the address in the profile or TEMPORAL_ADDRESS",
        ) from error


async def pollers(client: Client, kind: TaskQueueType.ValueType) -> list[str]:
    """The identities of the workers that poll the task queue for tasks of `kind`."""
    answer = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace, task_queue=TaskQueue(name=TASK_QUEUE), task_queue_type=kind
        ),
        timeout=timedelta(seconds=5),
    )
    newest = datetime.now(UTC) - _POLL_ANSWERED
    return sorted(
        poller.identity for poller in answer.pollers if poller.last_access_time.ToDatetime(tzinfo=UTC) > newest
    )
