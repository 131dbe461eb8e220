"""Opens sealed tokens and kubeconfigs in memory, at each use, so that a rotation needs no restart.

The sealed blobs live in the organization's and the clusters' workflows; they are asked for by query and kept
for a few seconds. What is opened is never logged, stored or returned to a workflow.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.service import RPCError, RPCStatusCode

from activities.failures import as_application_error
from core.calls import ClusterRef, Connection, Named, ProjectRef
from core.cloud_errors import CloudClass, CloudFailure
from core.errors import PoolsError
from core.names import cluster_workflow_id, organization_workflow_id
from core.sealing import PlatformKey, SealedSecret

KEPT_S = 5.0
RPC_TIMEOUT = timedelta(seconds=10)

Kept = TypeVar("Kept")


@dataclass(frozen=True)
class ClusterAccess:
    """An opened kubeconfig and how nodes join. Printed, it shows no secret."""

    kubeconfig: str = field(repr=False)
    connection: Connection


class Vault:
    """The worker's access to sealed secrets."""

    def __init__(self, client: Client, key: PlatformKey) -> None:
        self._client = client
        self._key = key
        self._kept: dict[str, tuple[float, object]] = {}

    async def token(self, project: ProjectRef) -> str:
        """The cloud token of `project`. Raises ApplicationError when it is not stored or cannot be opened."""
        sealed = await self._recent(self._name(project), lambda: self._sealed_token(project))
        return self._open(sealed, project.organization, "credential", project.credential)

    def forget(self, project: ProjectRef) -> None:
        """Ask again at the next use: the token may have been rotated since."""
        self._kept.pop(self._name(project), None)

    async def access(self, cluster: ClusterRef) -> ClusterAccess:
        """How to reach `cluster`. Raises ApplicationError when it is not registered or cannot be opened."""
        name = f"cluster/{cluster.organization}/{cluster.cluster}"
        connection = await self._recent(name, lambda: self._connection(cluster))
        return ClusterAccess(self.open_kubeconfig(cluster, connection.sealed), connection)

    def open_token(self, organization: str, name: str, sealed: SealedSecret) -> str:
        """A token that is not stored yet. Raises ApplicationError."""
        return self._open(sealed, organization, "credential", name)

    def open_kubeconfig(self, cluster: ClusterRef, sealed: SealedSecret) -> str:
        """A kubeconfig, stored or not. Raises ApplicationError."""
        return self._open(sealed, cluster.organization, "kubeconfig", cluster.cluster)

    def _open(self, sealed: SealedSecret, organization: str, kind: str, name: str) -> str:
        try:
            return self._key.open(sealed, organization, kind, name)
        except PoolsError as error:
            cls = CloudClass.CREDENTIAL if kind == "credential" else CloudClass.CLUSTER
            failure = CloudFailure(cls=cls, code="sealed_to_another_key", message=f"{error.message}; {error.hint}")
            raise as_application_error(failure, final=True) from error

    @staticmethod
    def _name(project: ProjectRef) -> str:
        return f"credential/{project.organization}/{project.credential}"

    async def _sealed_token(self, project: ProjectRef) -> SealedSecret:
        handle = self._client.get_workflow_handle(organization_workflow_id(project.organization))
        argument = Named(name=project.credential)
        sealed: SealedSecret = await handle.query(
            "sealed_credential", argument, result_type=SealedSecret, rpc_timeout=RPC_TIMEOUT
        )
        return sealed

    async def _connection(self, cluster: ClusterRef) -> Connection:
        handle = self._client.get_workflow_handle(cluster_workflow_id(cluster.organization, cluster.cluster))
        answer: Connection = await handle.query("connection", result_type=Connection, rpc_timeout=RPC_TIMEOUT)
        return answer

    async def _recent(self, name: str, ask: Callable[[], Awaitable[Kept]]) -> Kept:
        known = self._kept.get(name)
        if known is not None and time.monotonic() - known[0] < KEPT_S:
            return known[1]  # type: ignore[return-value]
        try:
            answer = await ask()
        except (RPCError, WorkflowQueryFailedError) as error:
            raise self._unanswered(name, error) from error
        self._kept[name] = (time.monotonic(), answer)
        return answer

    @staticmethod
    def _unanswered(name: str, error: RPCError | WorkflowQueryFailedError) -> Exception:
        missing = isinstance(error, WorkflowQueryFailedError) or error.status is RPCStatusCode.NOT_FOUND
        code = "not_stored" if missing else "vault_unreachable"
        failure = CloudFailure(cls=CloudClass.UNKNOWN, code=code, message=f"{name} could not be read: {error}")
        return as_application_error(failure)
