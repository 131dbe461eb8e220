"""The rules for certificate signing requests."""

import base64
import re
from collections import Counter
from collections.abc import Callable, Iterator

from sandbox.kubernetes.certificates import subject_of
from sandbox.kubernetes.errors import Cause
from sandbox.kubernetes.names import label_name_faults, subdomain_faults
from sandbox.kubernetes.objects import Obj
from sandbox.kubernetes.strategy import Creation, Strategy
from sandbox.kubernetes.validation import duplicate, required, unsupported, wrong

_PEM = re.compile(rb"-----BEGIN CERTIFICATE REQUEST-----\s.*?-----END CERTIFICATE REQUEST-----", re.DOTALL)
_SHORTEST = 600
_LEGACY = "kubernetes.io/legacy-unknown"
_USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)


def _create(request: Obj, creation: Creation) -> None:
    """The server, not the client, says who asks for a certificate."""
    user = {"username": creation.user.name, "groups": list(creation.user.groups)}
    request["spec"] = request.get("spec", {}) | user
    request["status"] = {}


def _validate(new: Obj, old: Obj | None) -> Iterator[Cause]:
    spec = new["spec"]
    if old is not None:
        if spec != old["spec"]:
            yield wrong("spec", {}, "field is immutable")
        return
    request = spec.get("request")
    found = _PEM.search(base64.b64decode(request or ""))
    if not found:
        yield wrong("spec.request", request, "PEM block type must be CERTIFICATE REQUEST")
    elif not _is_request(found[0]):
        yield wrong("spec.request", request, "asn1: syntax error: truncated tag or length")
    usages = spec.get("usages") or []
    if not usages:
        yield required("spec.usages")
    seen: Counter[str] = Counter()
    for index, usage in enumerate(usages):
        if usage not in _USAGES:
            yield unsupported(f"spec.usages[{index}]", usage, _USAGES)
        elif seen[usage]:
            yield duplicate(f"spec.usages[{index}]", usage)
        seen[usage] += 1
    yield from _signer_causes(spec.get("signerName", ""))
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST:
        why = "may not specify a duration less than 600 seconds (10 minutes)"
        yield wrong("spec.expirationSeconds", seconds, why)


def _is_request(pem: bytes) -> bool:
    try:
        subject_of(pem)
    except ValueError:
        return False
    return True


def _signer_causes(signer: str) -> Iterator[Cause]:
    """A signer is named by a domain and a path, which is one more name."""
    field = "spec.signerName"
    if not signer:
        yield required(field)
        return
    if signer == _LEGACY:
        yield wrong(field, signer, "the legacy signerName is not allowed via this API version")
    domain, _, path = signer.partition("/")
    if not path or "/" in path:
        yield wrong(field, signer, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
        return
    yield from _part_causes(domain, label_name_faults)
    if "." not in domain:
        yield wrong(field, domain, "should be a domain with at least two segments separated by dots")
    yield from _part_causes(path, subdomain_faults)


def _part_causes(part: str, faults: Callable[[str], Iterator[str]]) -> Iterator[Cause]:
    for label in part.split("."):
        for fault in faults(label):
            yield wrong("spec.signerName", part, f'validating label "{label}": {fault}')


STRATEGY = Strategy(create=_create, validate=_validate)
