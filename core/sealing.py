"""Sealing: a token or kubeconfig leaves the client only encrypted to the platform's public key.

HPKE (RFC 9180), base mode, X25519 / HKDF-SHA256 / AES-256-GCM, from `cryptography`. `info` binds the
ciphertext to organization, kind, name and version, so that a sealed blob cannot be moved to another name.
"""

from __future__ import annotations

import base64
import hashlib

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke, serialization
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from pydantic import BaseModel, ConfigDict

from core.errors import PoolsError

_SUITE = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_256_GCM)


class SealedSecret(BaseModel):
    """A secret that only the platform's private key opens. `version` is new for each sealing."""

    model_config = ConfigDict(frozen=True)

    key_id: str
    version: str
    ciphertext: str


class PlatformKey:
    """The platform's private key, held by workers alone."""

    def __init__(self, private: X25519PrivateKey) -> None:
        self._private = private
        self.public = PublicKey(private.public_key())

    @classmethod
    def generate(cls) -> PlatformKey:
        """A new key from the system's random source."""
        return cls(X25519PrivateKey.generate())

    @classmethod
    def from_pem(cls, pem: bytes) -> PlatformKey:
        """The key in `pem` (PKCS #8). Raises PoolsError when it is not an X25519 private key."""
        try:
            private = serialization.load_pem_private_key(pem, password=None)
        except ValueError as error:
            raise PoolsError("the platform key is not a PEM private key", hint="make one: lbr keys generate") from error
        if not isinstance(private, X25519PrivateKey):
            raise PoolsError("the platform key is not an X25519 key", hint="make one: lbr keys generate")
        return cls(private)

    def to_pem(self) -> bytes:
        """The private key as PKCS #8 PEM, unencrypted: keep the file readable by the worker alone."""
        return self._private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def open(self, sealed: SealedSecret, organization: str, kind: str, name: str) -> str:
        """The secret in clear. Raises PoolsError when it was sealed to another key, name or version."""
        info = _info(organization, kind, name, sealed.version)
        try:
            return _SUITE.decrypt(base64.b64decode(sealed.ciphertext), self._private, info=info).decode()
        except (InvalidTag, ValueError) as error:
            raise PoolsError(
                f"the sealed {kind} {name!r} cannot be opened with platform key {self.public.key_id}",
                hint=f"it was sealed to key {sealed.key_id}; store it again with the current public key",
            ) from error


class PublicKey:
    """The platform's public key, given to every client."""

    def __init__(self, public: X25519PublicKey) -> None:
        self._public = public
        raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        self._raw = raw
        self.key_id = hashlib.sha256(raw).hexdigest()[:12]

    @classmethod
    def from_text(cls, text: str) -> PublicKey:
        """The key in base64 `text`. Raises PoolsError when it is not a 32-byte key."""
        try:
            return cls(X25519PublicKey.from_public_bytes(base64.b64decode(text.strip(), validate=True)))
        except ValueError as error:
            raise PoolsError(
                "the platform's public key is not 32 bytes in base64",
                hint="ask for it anew, or: lbr keys generate",
            ) from error

    def to_text(self) -> str:
        """The key in base64, one line."""
        return base64.b64encode(self._raw).decode()

    def seal(self, secret: str, organization: str, kind: str, name: str, version: str) -> SealedSecret:
        """`secret`, sealed for this organization, kind, name and version alone."""
        info = _info(organization, kind, name, version)
        ciphertext = base64.b64encode(_SUITE.encrypt(secret.encode(), self._public, info=info)).decode()
        return SealedSecret(key_id=self.key_id, version=version, ciphertext=ciphertext)


def _info(organization: str, kind: str, name: str, version: str) -> bytes:
    return "\x00".join(("managed-node-pools/1", organization, kind, name, version)).encode()
