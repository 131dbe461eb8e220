"""The Hetzner-side activities over a simulated cloud: the real client, HTTP between, and no Temporal server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from pydantic import BaseModel
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.hetzner_client import Cloud
from activities.vault import Vault
from core.calls import Owner, ProjectRef
from core.cloud_errors import CloudFailure
from core.machine_calls import CreateServer
from core.sealing import SealedSecret
from sandbox.hetzner.faults import Fault
from sandbox.hetzner.live import LiveCloud

PROJECT = ProjectRef(organization="acme", credential="hetzner")
OWNER = Owner(organization="acme", cluster_id="cluster-1", pool_id="pool-1", operation_id="op-1")
SEALED = SealedSecret(key_id="test", version="1", ciphertext="sealed")
Given = TypeVar("Given", bound=BaseModel)
Answer = TypeVar("Answer", bound=BaseModel)


class OneToken:
    """Hands out one token in the way of the vault; `next_token` is what it was rotated to."""

    def __init__(self, token: str) -> None:
        self.now = token
        self.next_token: str | None = None

    async def token(self, project: ProjectRef) -> str:
        return self.now

    def forget(self, project: ProjectRef) -> None:
        self.now = self.next_token or self.now

    def open_token(self, organization: str, name: str, sealed: SealedSecret) -> str:
        return self.now


@dataclass
class CloudStage:
    """A simulated cloud and the clients that the activities of one worker share."""

    live: LiveCloud
    cloud: Cloud
    tokens: OneToken
    user_data: str = "#cloud-config\n"
    environment: ActivityEnvironment = field(default_factory=ActivityEnvironment)

    @property
    def vault(self) -> Vault:
        return cast(Vault, self.tokens)

    async def user_data_for(self, call: CreateServer) -> str:
        return self.user_data

    def attempt(self, number: int) -> None:
        """Let activities run as this attempt from now on."""
        self.environment.info = replace(self.environment.info, attempt=number)

    def fault(self, **fields: Any) -> None:
        """Put a fault in force."""
        self.live.call(lambda cloud: cloud.add_fault(Fault(**fields)))

    def servers(self) -> list[str]:
        """The names of the servers that exist."""
        return self.live.call(lambda cloud: sorted(server.name for server in cloud.servers()))

    def requests(self, method: str, path: str, status: int | None = None) -> int:
        """How many such requests the cloud answered."""
        return self.live.call(lambda cloud: cloud.log.count(method, path, status))

    async def run(self, activity: Callable[[Given], Awaitable[Answer]], call: Given) -> Answer:
        """Run an activity as a worker does."""
        return await self.environment.run(activity, call)

    async def failure(self, activity: Callable[[Given], Awaitable[Any]], call: Given) -> tuple[CloudFailure, bool]:
        """How an activity fails, and whether Temporal would try it again."""
        try:
            answer = await self.environment.run(activity, call)
        except ApplicationError as error:
            return CloudFailure.model_validate(error.details[0]), not error.non_retryable
        raise AssertionError(f"it did not fail but gave {answer}")


async def eventually(holds: Callable[[], bool], within_s: float = 10) -> None:
    """Return once `holds`; fails when it does not in time."""
    async with asyncio.timeout(within_s):
        while not holds():  # noqa: ASYNC110 (what is waited for is in another thread)
            await asyncio.sleep(0.01)
