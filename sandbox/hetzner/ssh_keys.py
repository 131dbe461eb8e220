"""SSH keys: only their public halves, one of each fingerprint in a project."""

import base64
import binascii
import hashlib

from sandbox.hetzner.errors import ApiError, invalid_input, not_found
from sandbox.hetzner.names import check_unique
from sandbox.hetzner.records import SshKey
from sandbox.hetzner.world import Scope


def fingerprint(public_key: str) -> str:
    """The MD5 form that the API shows, `aa:bb:...`. Raises `ApiError` invalid_input for what is no key."""
    words = public_key.split()
    if len(words) < 2 or not words[0].startswith(("ssh-", "ecdsa-", "sk-")):
        raise invalid_input("public_key", "must be a public key in OpenSSH format")
    try:
        raw = base64.b64decode(words[1], validate=True)
    except binascii.Error:
        raise invalid_input("public_key", "must be a public key in OpenSSH format") from None
    digest = hashlib.md5(raw, usedforsecurity=False).hexdigest()
    return ":".join(digest[at : at + 2] for at in range(0, 32, 2))


def create(scope: Scope, name: str, public_key: str, labels: dict[str, str]) -> SshKey:
    keys = scope.project.ssh_keys
    mark = fingerprint(public_key)
    check_unique("SSH key", name, keys.values())
    if any(key.fingerprint == mark for key in keys.values()):
        raise ApiError(
            "uniqueness_error",
            "SSH key with the same fingerprint already exists",
            {"fields": [{"name": "public_key"}]},
        )
    key = SshKey(
        id=scope.new_id(),
        name=name,
        labels=labels,
        created=scope.now,
        public_key=public_key,
        fingerprint=mark,
    )
    keys[key.id] = key
    return key


def find(scope: Scope, reference: int | str) -> SshKey:
    """By id or name; an id may come as digits in a string. Raises `ApiError` not_found."""
    for key in scope.project.ssh_keys.values():
        if reference in {key.id, key.name, str(key.id)}:
            return key
    raise not_found("SSH key", reference)
