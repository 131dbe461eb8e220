"""A pool's SSH key: a server made without one has its root password mailed to the account's owner."""

from __future__ import annotations

import asyncio

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hcloud import APIException, Client
from hcloud.ssh_keys import BoundSSHKey
from temporalio import activity

from activities.beating import beaten
from activities.failures import Failure
from activities.hetzner_client import Cloud
from activities.project import Projects
from activities.vault import Vault
from core import calls
from core.cloud_errors import CloudClass
from core.ownership import owned_by, pool_labels, pool_selector


class KeyActivities:
    """Activities on SSH keys."""

    def __init__(self, cloud: Cloud, vault: Vault) -> None:
        self._projects = Projects(cloud, vault)
        self._asked: dict[tuple[str, str, str], asyncio.Future[int]] = {}

    @activity.defn(name=calls.ENSURE_KEY.name)
    @beaten
    async def ensure_key(self, call: calls.EnsureKey) -> calls.KeySeen:
        """The pool's key, made if it does not exist. Nobody keeps its private half.

        The machines of a new pool all ask at once, and have the answer to one question.
        """
        name = (call.project.organization, call.project.credential, call.name)
        asked = self._asked.get(name)
        if asked is None:
            work = self._projects.run(call.project, lambda client: _ensure(client, call))
            asked = self._asked[name] = asyncio.ensure_future(work)
            asked.add_done_callback(lambda _: self._asked.pop(name, None))
        return calls.KeySeen(key_id=await asyncio.shield(asked))

    @activity.defn(name=calls.REMOVE_KEYS.name)
    @beaten
    async def remove_keys(self, call: calls.RemoveKeys) -> calls.Nothing:
        """Delete the pool's keys; absent is success."""
        await self._projects.run(call.project, lambda client: _remove(client, call))
        return calls.Nothing()


def _ensure(client: Client, call: calls.EnsureKey) -> int:
    key = client.ssh_keys.get_by_name(call.name) or _made(client, call)
    if not owned_by(key.labels or {}, call.owner):
        raise Failure.of(
            CloudClass.INVALID, "name_taken", f"an SSH key named {call.name} exists and is not this pool's"
        )
    assert key.id is not None
    return key.id


def _made(client: Client, call: calls.EnsureKey) -> BoundSSHKey:
    public = Ed25519PrivateKey.generate().public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    try:
        return client.ssh_keys.create(name=call.name, public_key=public.decode(), labels=pool_labels(call.owner))
    except APIException as error:
        if error.code != "uniqueness_error":
            raise
    # Another worker's machine asked at the same time, and was first.
    key = client.ssh_keys.get_by_name(call.name)
    if key is None:
        raise Failure.of(
            CloudClass.UNKNOWN, "uniqueness_error", f"the SSH key {call.name} exists but is not listed yet"
        )
    return key


def _remove(client: Client, call: calls.RemoveKeys) -> None:
    for key in client.ssh_keys.get_all(label_selector=pool_selector(call.owner)):
        try:
            client.ssh_keys.delete(key)
        except APIException as error:
            if error.code != "not_found":
                raise
