"""Who may speak to a real control plane and how it is known: authority, certificates, tokens, kubeconfigs."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from sandbox.kubernetes.certificates import Authority
from sandbox.kubernetes.kubeconfig import kubeconfig

ADMIN = "admin"
# The components log in as what the API server's own roles are bound to.
_USERS = {
    ADMIN: '"system:masters"',
    "system:kube-controller-manager": "",
    "system:kube-scheduler": "",
}


class Access:
    """The files of one control plane, made once and kept: certificates are valid for years."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def make(self) -> None:
        """Write what is not there yet."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self.tokens.exists():
            return
        now = datetime.now(UTC)
        authority = Authority.fresh(now)
        self._write("ca.pem", authority.pem)
        self._write("ca.key", authority.dump().removesuffix(authority.pem))
        self._write("server.pem", authority.serving_pem(now))
        self._write("accounts.key", _rsa_key())
        rows = (f"{secrets.token_urlsafe(24)},{user},{user},{groups}" for user, groups in _USERS.items())
        self._write("tokens.csv", "\n".join(row.rstrip(",") for row in rows) + "\n")

    @property
    def authority(self) -> Path:
        """The authority's certificate: of the API server, and of everybody's client certificates."""
        return self._folder / "ca.pem"

    @property
    def authority_key(self) -> Path:
        """What the controller manager signs with."""
        return self._folder / "ca.key"

    @property
    def server(self) -> Path:
        """The API server's certificate and key, for 127.0.0.1 and localhost."""
        return self._folder / "server.pem"

    @property
    def accounts_key(self) -> Path:
        """What service account tokens are signed with."""
        return self._folder / "accounts.key"

    @property
    def tokens(self) -> Path:
        """The API server's token file: token, user, uid, groups."""
        return self._folder / "tokens.csv"

    def token(self, user: str = ADMIN) -> str:
        """The token of one user."""
        rows = (line.split(",") for line in self.tokens.read_text().splitlines())
        return next(row[0] for row in rows if row[1] == user)

    def kubeconfig(self, url: str, user: str = ADMIN) -> str:
        """A user's kubeconfig for the API server at `url`."""
        return kubeconfig(url, self.authority.read_text(), user, self.token(user))

    def component_kubeconfig(self, url: str, component: str) -> Path:
        """A component's kubeconfig, written anew."""
        path = self._folder / f"{component}.kubeconfig"
        self._write(path.name, self.kubeconfig(url, f"system:{component}"))
        return path

    def _write(self, name: str, text: str) -> None:
        path = self._folder / name
        path.touch(mode=0o600)
        path.write_text(text)


def _rsa_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()
