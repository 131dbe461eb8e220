"""How one machine joins: a bootstrap token of its own, and the user-data that carries it."""

from __future__ import annotations

import base64
import hashlib
import secrets
import string
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio import activity

from activities.cluster_api import ClusterApi, ClusterApis
from activities.cluster_errors import ClusterError, as_temporal
from activities.failures import as_application_error
from activities.vault import Vault
from core import calls, machine_calls
from core.calls import JoinMethod
from core.cloud_errors import CloudClass, CloudFailure
from core.errors import PoolsError
from core.node_keys import MACHINE, OPERATION_ID, POOL_ID, node_labels
from core.userdata import Join, render
from core.version import Version

_ALPHABET = string.ascii_lowercase + string.digits
_SECRETS = "/api/v1/namespaces/kube-system/secrets"
_GROUP = "system:bootstrappers:{}:default-node-token"


class JoinActivities:
    """Activities on bootstrap tokens; `user_data` is what creating a server asks for."""

    def __init__(self, apis: ClusterApis, vault: Vault) -> None:
        self._apis = apis
        self._vault = vault

    @activity.defn(name=machine_calls.ENSURE_TOKEN.name)
    async def ensure_token(self, call: machine_calls.EnsureToken) -> machine_calls.TokenIssued:
        """The machine's token, made or extended. Its secret half stays in the cluster until the user-data needs it."""
        expires = (datetime.now(UTC) + timedelta(seconds=call.ttl_s)).replace(microsecond=0)
        try:
            api = await self._apis.get(call.cluster)
            access = await self._vault.access(call.cluster)
            await _have_secret(api, call, access.connection.join, expires)
        except ClusterError as error:
            raise as_temporal(error) from error
        return machine_calls.TokenIssued(token_id=token_id(call.operation_id), expires_at=expires)

    @activity.defn(name=machine_calls.REVOKE_TOKEN.name)
    async def revoke_token(self, call: machine_calls.RevokeToken) -> calls.Nothing:
        """Delete the machine's token; absent, or somebody else's of the same id, is success."""
        try:
            api = await self._apis.get(call.cluster)
            secret = await _ours(api, call.operation_id)
            if secret is not None:
                await api.delete(_path(call.operation_id), uid=secret["metadata"]["uid"])
        except ClusterError as error:
            raise as_temporal(error) from error
        return calls.Nothing()

    async def user_data(self, call: machine_calls.CreateServer) -> str:
        """The machine's user-data. Raises ApplicationError while there is no token, or when it can never join so."""
        try:
            api = await self._apis.get(call.cluster)
            access = await self._vault.access(call.cluster)
            secret = await _ours(api, call.owner.operation_id)
        except ClusterError as error:
            raise as_temporal(error) from error
        if secret is None:
            raise as_temporal(ClusterError(404, "NotFound", f"machine {call.machine} has no bootstrap token any more"))
        try:
            return render(_join(call, access.connection, api.ca_pem, secret))
        except (PoolsError, ValueError) as error:
            failure = CloudFailure(cls=CloudClass.INVALID, code="cannot_join", message=str(error))
            raise as_application_error(failure) from error


def _join(
    call: machine_calls.CreateServer, connection: calls.Connection, ca_pem: bytes | None, secret: dict[str, Any]
) -> Join:
    return Join(
        method=connection.join,
        machine=call.machine,
        endpoint=connection.api_endpoint,
        ca_pem=ca_pem,
        token_id=token_id(call.owner.operation_id),
        token_secret=base64.b64decode(secret["data"]["token-secret"]).decode(),
        version=Version.parse(connection.version),
        labels=node_labels(call.pool, call.owner.pool_id, call.machine, call.labels),
        taints=call.taints,
        server=call.server,
    )


def token_id(operation_id: str) -> str:
    """The public half, six characters drawn from the operation: asking twice gives the same token."""
    value = int.from_bytes(hashlib.sha256(operation_id.encode()).digest()[:8], "big")
    return "".join(_ALPHABET[value // len(_ALPHABET) ** place % len(_ALPHABET)] for place in range(6))


def _name(operation_id: str) -> str:
    return f"bootstrap-token-{token_id(operation_id)}"


def _path(operation_id: str) -> str:
    return f"{_SECRETS}/{_name(operation_id)}"


async def _ours(api: ClusterApi, operation_id: str) -> dict[str, Any] | None:
    """The operation's Secret; None where there is none, or where another's token happens to have its id."""
    try:
        secret = await api.get(_path(operation_id))
    except ClusterError as error:
        if error.status == 404:
            return None
        raise
    annotations = secret["metadata"].get("annotations") or {}
    return secret if annotations.get(OPERATION_ID) == operation_id else None


async def _have_secret(api: ClusterApi, call: machine_calls.EnsureToken, method: JoinMethod, expires: datetime) -> None:
    expiration = expires.isoformat().replace("+00:00", "Z")
    try:
        await api.post(_SECRETS, _secret(call, method, expiration))
    except ClusterError as error:
        if error.status != 409:
            raise
        if await _ours(api, call.operation_id) is None:
            text = f"{_name(call.operation_id)} is somebody else's; another operation gets another token"
            raise ClusterError(409, "Conflict", text) from error
        await api.patch(_path(call.operation_id), {"stringData": {"expiration": expiration}})


def _secret(call: machine_calls.EnsureToken, method: JoinMethod, expiration: str) -> dict[str, Any]:
    # RKE2 is k3s in this respect, group included.
    group = _GROUP.format("kubeadm" if method is JoinMethod.KUBEADM else "k3s")
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "bootstrap.kubernetes.io/token",
        "metadata": {
            "name": _name(call.operation_id),
            "labels": {POOL_ID: call.pool_id, MACHINE: call.machine},
            "annotations": {OPERATION_ID: call.operation_id},
        },
        "stringData": {
            "description": f"joins machine {call.machine}",
            "token-id": token_id(call.operation_id),
            "token-secret": "".join(secrets.choice(_ALPHABET) for _ in range(16)),
            "expiration": expiration,
            "usage-bootstrap-authentication": "true",
            "usage-bootstrap-signing": "true",
            "auth-extra-groups": group,
        },
    }
