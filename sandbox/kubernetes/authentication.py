"""Client certificates, and bearer tokens: the admin's, bootstrap tokens kept as Secrets, service accounts'."""

import base64
import hmac
import re
from collections.abc import Mapping
from datetime import datetime

from sandbox.kubernetes import kinds
from sandbox.kubernetes.certificates import Authority
from sandbox.kubernetes.errors import unauthorized
from sandbox.kubernetes.identity import ANONYMOUS, BOOTSTRAPPERS, User
from sandbox.kubernetes.objects import Obj, is_deleting, parse_time
from sandbox.kubernetes.service_accounts import TokenIssuer
from sandbox.kubernetes.store import Store

TOKEN_TYPE = "bootstrap.kubernetes.io/token"
_BOOTSTRAP = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")


class Authenticator:
    """Tells the user of a request from its Authorization header."""

    def __init__(self, store: Store, authority: Authority, accounts: TokenIssuer, admins: Mapping[str, User]) -> None:
        self._store = store
        self._authority = authority
        self._accounts = accounts
        self._admins = admins

    def user(self, header: str | None, peer: bytes | None, now: datetime) -> User:
        """The user of a client certificate (DER) or a token; anonymous without. Raises ApiError 401 for a bad token.

        The certificate comes first, as in a real API server.
        """
        known = peer and self._authority.user_of(peer, now)
        if known:
            return known
        if not header:
            return ANONYMOUS
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer":
            raise unauthorized()
        found = (
            self._admins.get(token)
            or bootstrap_user(self._store, token, now)
            or self._accounts.user(self._store, token, now)
        )
        if found is None:
            raise unauthorized()
        return found


def bootstrap_user(store: Store, token: str, now: datetime) -> User | None:
    """The user of a bootstrap token; None when it is unknown, wrong, expired, or not for logging in."""
    found = _BOOTSTRAP.fullmatch(token)
    secret = found and store.get(kinds.SECRETS, "kube-system", f"bootstrap-token-{found[1]}")
    if not found or not secret or is_deleting(secret.obj) or secret.obj.get("type") != TOKEN_TYPE:
        return None
    data = decoded(secret.obj)
    same = data.get("token-id") == found[1] and hmac.compare_digest(data.get("token-secret", ""), found[2])
    if not same or data.get("usage-bootstrap-authentication") != "true" or has_expired(data, now):
        return None
    extra = [group for group in data.get("auth-extra-groups", "").split(",") if group]
    if not all(group.startswith(f"{BOOTSTRAPPERS}:") for group in extra):
        return None
    groups = (BOOTSTRAPPERS, *extra, "system:authenticated")
    return User(f"system:bootstrap:{found[1]}", groups)


def has_expired(data: Mapping[str, str], now: datetime) -> bool:
    """Whether a token's expiration has passed. One that cannot be read counts as passed."""
    if not data.get("expiration"):
        return False
    try:
        return parse_time(data["expiration"]) <= now
    except ValueError:
        return True


def decoded(secret: Obj) -> dict[str, str]:
    """A Secret's data as text; what is no text is left out."""
    texts = {}
    for key, value in (secret.get("data") or {}).items():
        raw = base64.b64decode(value)
        texts[key] = raw.decode(errors="replace")
    return texts
