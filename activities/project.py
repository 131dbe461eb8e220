"""Calls on one Hetzner project: the stored token is opened for each, and a refused one is asked for again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hcloud import Client

from activities.failures import Failure, as_application_error
from activities.hetzner_client import Cloud
from activities.vault import Vault
from core.calls import ProjectRef
from core.cloud_errors import CloudClass

Answer = TypeVar("Answer")


class Projects:
    """The projects that the stored credentials open."""

    def __init__(self, cloud: Cloud, vault: Vault) -> None:
        self._cloud = cloud
        self._vault = vault

    async def call(self, project: ProjectRef, act: Callable[[Client], Answer]) -> Answer:
        """Run `act` on `project`. Raises Failure.

        A refused token is opened anew once: it may have been rotated in the seconds for which it was kept.
        """
        try:
            return await self._cloud.call(await self._vault.token(project), act)
        except Failure as error:
            if error.failure.cls is not CloudClass.CREDENTIAL:
                raise
        self._vault.forget(project)
        return await self._cloud.call(await self._vault.token(project), act)

    async def run(self, project: ProjectRef, act: Callable[[Client], Answer]) -> Answer:
        """As `call`, for activities: raises the error that Temporal understands."""
        try:
            return await self.call(project, act)
        except Failure as error:
            raise as_application_error(error.failure) from error
