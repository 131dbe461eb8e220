"""Service account tokens: signed, bound to an account that still exists, and with an end unless in a Secret."""

import base64
import binascii
import functools
import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sandbox.kubernetes.errors import invalid_as
from sandbox.kubernetes.identity import User
from sandbox.kubernetes.kinds import SECRETS, SERVICE_ACCOUNTS
from sandbox.kubernetes.objects import Obj, is_deleting, name_of, namespace_of, stamp, uid_of
from sandbox.kubernetes.registry import Registry
from sandbox.kubernetes.store import Store
from sandbox.kubernetes.validation import wrong

_SECRET_TYPE = "kubernetes.io/service-account-token"
_NAME, _UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"
_DEFAULT_SECONDS, _SHORTEST = 3600, 600
_HEADER = {"alg": "HS256", "typ": "JWT"}


class TokenIssuer:
    """Issues and recognises tokens, signed with a key that only this cluster has."""

    def __init__(self, key: bytes) -> None:
        self._key = hashlib.sha256(key).digest()

    def request(self, account: Obj, asked: Obj, now: datetime) -> Obj:
        """The answer to a `TokenRequest`, as `kubectl create token` makes one. Raises ApiError 422."""
        seconds = int((asked.get("spec") or {}).get("expirationSeconds") or _DEFAULT_SECONDS)
        if seconds < _SHORTEST:
            cause = wrong("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
            raise invalid_as("authentication.k8s.io", "TokenRequest", "", [cause])
        end = now + timedelta(seconds=seconds)
        token = self._issue(account, {"exp": end.timestamp()})
        status = {"token": token, "expirationTimestamp": stamp(end)}
        head = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1"}
        metadata = {"name": name_of(account), "namespace": namespace_of(account)}
        return head | {"metadata": metadata, "spec": {"expirationSeconds": seconds}, "status": status}

    def for_secret(self, account: Obj, secret: Obj) -> str:
        """A token without end, which is valid while its Secret exists."""
        return self._issue(account, {"secret": uid_of(secret)})

    def user(self, store: Store, token: str, now: datetime) -> User | None:
        """The account's user; None when the token is not ours or holds no longer."""
        claims = self._claims(token)
        if claims is None or claims.get("exp", now.timestamp() + 1) <= now.timestamp():
            return None
        account = store.get(SERVICE_ACCOUNTS, claims["namespace"], claims["name"])
        if account is None or uid_of(account.obj) != claims["uid"]:
            return None
        if "secret" in claims and store.by_uid(claims["secret"]) is None:
            return None
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{claims['namespace']}")
        name = f"system:serviceaccount:{claims['namespace']}:{claims['name']}"
        return User(name, (*groups, "system:authenticated"))

    def _issue(self, account: Obj, extra: Mapping[str, Any]) -> str:
        who = {"namespace": namespace_of(account), "name": name_of(account), "uid": uid_of(account)}
        signed = f"{_encode(_HEADER)}.{_encode(who | dict(extra))}"
        return f"{signed}.{self._signature(signed)}"

    def _claims(self, token: str) -> dict[str, Any] | None:
        signed, _, signature = token.rpartition(".")
        if not signed or not hmac.compare_digest(self._signature(signed).encode(), signature.encode()):
            return None
        payload = signed.partition(".")[2]
        try:
            claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=="))
        except (ValueError, binascii.Error):
            return None
        return claims

    def _signature(self, signed: str) -> str:
        return _base64(hmac.digest(self._key, signed.encode(), "sha256"))


def fill_token_secrets(registry: Registry, issuer: TokenIssuer, authority_pem: str) -> None:
    """Put tokens into Secrets that ask for one by annotation; delete those whose account is gone."""
    for secret in registry.store.objs(SECRETS):
        if secret.get("type") != _SECRET_TYPE or is_deleting(secret):
            continue
        key = (namespace_of(secret), name_of(secret))
        account = registry.store.get(SERVICE_ACCOUNTS, key[0], secret["metadata"]["annotations"].get(_NAME, ""))
        if account is None:
            registry.delete(SECRETS, *key)
        elif "token" not in (secret.get("data") or {}):
            token = issuer.for_secret(account.obj, secret)
            data = {"token": token, "ca.crt": authority_pem, "namespace": key[0]}
            uid = {_UID: uid_of(account.obj)}
            registry.update(SECRETS, *key, functools.partial(_filled, data=data, uid=uid))


def _filled(secret: Obj, data: dict[str, str], uid: dict[str, str]) -> Obj:
    secret["stringData"] = data
    secret["metadata"]["annotations"] |= uid
    return secret


def _encode(claims: Mapping[str, Any]) -> str:
    return _base64(json.dumps(claims, separators=(",", ":")).encode())


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
