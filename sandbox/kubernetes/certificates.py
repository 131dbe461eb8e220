"""The cluster's certificate authority: signs kubelet client certificates and recognises them."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import IPv4Address

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sandbox.kubernetes.identity import User

_AUTHORITY_DAYS = 3650
_CLIENT_DAYS = 365  # what kube-controller-manager signs for by default

# An authority may sign certificates and revocation lists, and do nothing else.
_SIGNS = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


@dataclass
class Authority:
    """A key and its self-signed certificate, with the users of the certificates seen so far."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    _seen: dict[bytes, tuple[User, datetime]] = field(default_factory=dict)

    @classmethod
    def fresh(cls, now: datetime) -> "Authority":
        """A new authority, valid from a day ago so that skewed clocks accept it."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])
        builder = _builder(name, name, key.public_key(), now - timedelta(days=1), _AUTHORITY_DAYS)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        builder = builder.add_extension(_SIGNS, critical=True)
        return cls(key, builder.sign(key, hashes.SHA256()))

    @classmethod
    def load(cls, pem: str) -> "Authority":
        """An authority as `dump` wrote it."""
        data = pem.encode()
        key = serialization.load_pem_private_key(data, None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("the authority's key is not an elliptic-curve key")
        return cls(key, x509.load_pem_x509_certificate(data))

    def dump(self) -> str:
        """Key and certificate, PEM."""
        return _key_pem(self.key) + self.pem

    @property
    def pem(self) -> str:
        """The certificate, as a kubeconfig and k3s' `/cacerts` carry it."""
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def sign(self, request_pem: bytes, now: datetime) -> str:
        """A client certificate for the subject of a request. Raises ValueError for a bad request."""
        request = x509.load_pem_x509_csr(request_pem)
        if not request.is_signature_valid:
            raise ValueError("the request is not signed by its own key")
        key = request.public_key()
        if not isinstance(key, ec.EllipticCurvePublicKey):
            raise ValueError("only elliptic-curve keys are signed")
        start = now - timedelta(minutes=5)
        builder = _builder(self.certificate.subject, request.subject, key, start, _CLIENT_DAYS)
        signed = builder.add_extension(self._key_id, critical=False).sign(self.key, hashes.SHA256())
        return signed.public_bytes(serialization.Encoding.PEM).decode()

    def serving_pem(self, now: datetime) -> str:
        """A certificate for 127.0.0.1 and localhost with its key, PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
        start = now - timedelta(days=1)
        builder = _builder(self.certificate.subject, subject, key.public_key(), start, _AUTHORITY_DAYS)
        names = [x509.IPAddress(IPv4Address("127.0.0.1")), x509.DNSName("localhost")]
        signed = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        signed = signed.add_extension(self._key_id, critical=False)
        certificate = signed.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        return certificate.decode() + _key_pem(key)

    @property
    def _key_id(self) -> x509.AuthorityKeyIdentifier:
        """What Python from 3.13 on demands of every certificate that an authority issued (VERIFY_X509_STRICT)."""
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())

    def user_of(self, der: bytes, now: datetime) -> User | None:
        """The user of a client certificate that a handshake showed; None when it is none of ours, or has expired."""
        if der not in self._seen:
            certificate = x509.load_der_x509_certificate(der)
            if not self._signed(certificate):
                return None
            self._seen[der] = (_user(certificate.subject), certificate.not_valid_after_utc)
        user, end = self._seen[der]
        return user if now < end else None

    def _signed(self, certificate: x509.Certificate) -> bool:
        try:
            certificate.verify_directly_issued_by(self.certificate)
        except (InvalidSignature, ValueError, TypeError):
            return False
        return True


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


def subject_of(request_pem: bytes) -> User:
    """The user that a certificate request asks for. Raises ValueError when it is not one."""
    return _user(x509.load_pem_x509_csr(request_pem).subject)


def _user(subject: x509.Name) -> User:
    names = subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    groups = subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    everybody = (*(str(group.value) for group in groups), "system:authenticated")
    return User(str(names[0].value) if names else "", everybody)


def _builder(
    issuer: x509.Name, subject: x509.Name, key: ec.EllipticCurvePublicKey, start: datetime, days: int
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().issuer_name(issuer).subject_name(subject).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(start).not_valid_after(start + timedelta(days=days))
