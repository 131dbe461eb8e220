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
from activities.vault import Vault
from core import calls
from core.calls import JoinMethod
from core.node_keys import MACHINE, POOL_ID, node_labels
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

    @activity.defn(name=calls.ENSURE_TOKEN.name)
    async def ensure_token(self, call: calls.EnsureToken) -> calls.TokenIssued:
        """The machine's token, made or extended. Its secret half stays in the cluster until the user-data needs it."""
        expires = (datetime.now(UTC) + timedelta(seconds=call.ttl_s)).replace(microsecond=0)
        try:
            api = await self._apis.get(call.cluster)
            access = await self._vault.access(call.cluster)
            await _have_secret(api, call, access.connection.join, expires)
        except ClusterError as error:
            raise as_temporal(error) from error
        return calls.TokenIssued(token_id=token_id(call.operation_id), expires_at=expires)

    @activity.defn(name=calls.REVOKE_TOKEN.name)
    async def revoke_token(self, call: calls.RevokeToken) -> calls.Nothing:
        """Delete the machine's token; absent is success."""
        try:
            api = await self._apis.get(call.cluster)
            await api.delete(f"{_SECRETS}/{_name(call.operation_id)}")
        except ClusterError as error:
            raise as_temporal(error) from error
        return calls.Nothing()

    async def user_data(self, call: calls.CreateServer) -> str:
        """The machine's user-data. Raises ApplicationError while the cluster cannot be asked for the token."""
        try:
            api = await self._apis.get(call.cluster)
            access = await self._vault.access(call.cluster)
            secret = await api.get(f"{_SECRETS}/{_name(call.owner.operation_id)}")
        except ClusterError as error:
            raise as_temporal(error) from error
        connection = access.connection
        return render(
            Join(
                method=connection.join,
                machine=call.machine,
                endpoint=connection.api_endpoint,
                ca_pem=api.ca_pem,
                token_id=token_id(call.owner.operation_id),
                token_secret=base64.b64decode(secret["data"]["token-secret"]).decode(),
                version=Version.parse(connection.version),
                labels=node_labels(call.pool, call.owner.pool_id, call.machine, call.labels),
                taints=call.taints,
            )
        )


def token_id(operation_id: str) -> str:
    """The public half, six characters drawn from the operation: asking twice gives the same token."""
    value = int.from_bytes(hashlib.sha256(operation_id.encode()).digest()[:8], "big")
    return "".join(_ALPHABET[value // len(_ALPHABET) ** place % len(_ALPHABET)] for place in range(6))


def _name(operation_id: str) -> str:
    return f"bootstrap-token-{token_id(operation_id)}"


async def _have_secret(api: ClusterApi, call: calls.EnsureToken, method: JoinMethod, expires: datetime) -> None:
    expiration = expires.isoformat().replace("+00:00", "Z")
    try:
        await api.post(_SECRETS, _secret(call, method, expiration))
    except ClusterError as error:
        if error.status != 409:
            raise
        await _extend(api, call, expiration)


async def _extend(api: ClusterApi, call: calls.EnsureToken, expiration: str) -> None:
    path = f"{_SECRETS}/{_name(call.operation_id)}"
    known = await api.get(path)
    if (known["metadata"].get("labels") or {}).get(MACHINE) != call.machine:
        raise ClusterError(409, "Conflict", f"{_name(call.operation_id)} belongs to somebody else")
    await api.patch(path, {"stringData": {"expiration": expiration}})


def _secret(call: calls.EnsureToken, method: JoinMethod, expiration: str) -> dict[str, Any]:
    # RKE2 is k3s in this respect, group included.
    group = _GROUP.format("kubeadm" if method is JoinMethod.KUBEADM else "k3s")
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "bootstrap.kubernetes.io/token",
        "metadata": {"name": _name(call.operation_id), "labels": {POOL_ID: call.pool_id, MACHINE: call.machine}},
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
