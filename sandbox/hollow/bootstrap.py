"""The kubelet's TLS bootstrap: bootstrap token, certificate request, client certificate."""

import asyncio
import base64
import hashlib
import ssl
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

import aiohttp
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sandbox.hollow.api import NodeApi
from sandbox.hollow.user_data import JoinPlan

_REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
_POLL = 0.2  # seconds between two looks at an unsigned request
Sleep = Callable[[float], Awaitable[None]]


class JoinFailed(Exception):
    """The machine cannot join, as its log would say; it tries again later."""


@dataclass(frozen=True)
class Credential:
    """A kubelet's client certificate and its key, PEM."""

    certificate: str
    key: str

    def dump(self) -> dict[str, str]:
        """As JSON can hold it."""
        return asdict(self)


@dataclass(frozen=True)
class Endpoint:
    """Where the API server is, and the authority (PEM) that a TLS server is checked against.

    Without an authority a TLS server is taken on trust, as agents do before they know its certificate.
    """

    url: str
    ca_pem: str = ""

    def tls(self) -> ssl.SSLContext:
        """The TLS setting for requests without a client certificate."""
        context = ssl.create_default_context(cadata=self.ca_pem or None)
        if not self.ca_pem:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def as_node(self, session: aiohttp.ClientSession, credential: Credential) -> NodeApi:
        """A session as the node that the credential names."""
        tls = self.tls()
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # the ssl module reads files only
            file.write(credential.certificate + credential.key)
            file.flush()
            tls.load_cert_chain(file.name)
        return NodeApi(session, self.url, tls)


async def obtain(
    session: aiohttp.ClientSession, endpoint: Endpoint, plan: JoinPlan, node: str, *, now: datetime, sleep: Sleep
) -> Credential:
    """Join with a bootstrap token. `now` is the machine's own idea of the time.

    Raises JoinFailed, Refused, aiohttp.ClientError or TimeoutError.
    """
    api = NodeApi(session, endpoint.url, endpoint.tls(), plan.token)
    await _check_authority(api, plan)
    key = ec.generate_private_key(ec.SECP256R1())
    name = f"node-csr-{uuid4().hex[:20]}"
    await api.call("POST", _REQUESTS, _request(name, node, key))
    certificate = await _signed(api, name, sleep)
    _check_validity(certificate, now)
    form = serialization.PrivateFormat.PKCS8
    pem = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    return Credential(certificate, pem.decode())


async def _check_authority(api: NodeApi, plan: JoinPlan) -> None:
    """k3s agents compare the hash in a full token with the authority that the server shows."""
    if not plan.ca_hash:
        return
    shown = await api.text("/cacerts")
    if shown is not None and hashlib.sha256(shown.encode()).hexdigest() != plan.ca_hash:
        raise JoinFailed("token CA hash does not match the Cluster CA certificate hash")


def _request(name: str, node: str, key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
    organization = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes")
    subject = x509.Name([organization, x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{node}")])
    signed = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    spec = {
        "request": base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode(),
        "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
        "usages": ["digital signature", "client auth"],
    }
    head = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
    return head | {"metadata": {"name": name}, "spec": spec}


async def _signed(api: NodeApi, name: str, sleep: Sleep) -> str:
    while True:
        found = await api.call("GET", f"{_REQUESTS}/{name}")
        status = found.get("status", {})
        if status.get("certificate"):
            return base64.b64decode(status["certificate"]).decode()
        for condition in status.get("conditions") or ():
            if condition["type"] in ("Denied", "Failed"):
                raise JoinFailed(f"certificate request {condition['type']}: {condition.get('message', '')}")
        await asyncio.sleep(0)
        await sleep(_POLL)


def _check_validity(certificate_pem: str, now: datetime) -> None:
    certificate = x509.load_pem_x509_certificate(certificate_pem.encode())
    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        raise JoinFailed(f"x509: certificate has expired or is not yet valid: current time {now:%FT%TZ}")
