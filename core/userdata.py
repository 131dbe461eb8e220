"""The cloud-init user-data that makes a server a node: rendered here, purely, and read by nobody but cloud-init.

JSON is YAML, so every file below is written by a JSON encoder and nothing is ever escaped by hand. The only
secret in it is one bootstrap token, of one machine, for the time of its join: Hetzner keeps user-data, and any
pod can read it from the metadata service.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from core.calls import JoinMethod, ServerType
from core.errors import FieldRefused
from core.join_scripts import agent_script, kubeadm_script
from core.labels import Taint
from core.reserved import reserved_for
from core.version import Version

KUBEADM_FILE = "/etc/kubernetes/managed-pool-join.yaml"
SCRIPT_FILE = "/usr/local/sbin/managed-pool-join"
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Join:
    """All that a machine needs to know to join. `endpoint` is the API server's URL as the machine reaches it."""

    method: JoinMethod
    machine: str
    endpoint: str
    ca_pem: bytes | None
    token_id: str
    token_secret: str = field(repr=False)
    version: Version
    labels: dict[str, str]
    taints: list[Taint]
    server: ServerType | None = None

    @property
    def kubelet_flags(self) -> dict[str, str]:
        """What the kubelet keeps from pods, as its flags; none where the server's size is not known."""
        return reserved_for(self.server).kubelet_flags if self.server else {}

    @property
    def token(self) -> str:
        """The bootstrap token, `id.secret`."""
        return f"{self.token_id}.{self.token_secret}"


def render(join: Join) -> str:
    """The user-data for `join`, a #cloud-config document. Raises FieldRefused when it cannot be joined so."""
    files = _kubeadm_files(join) if join.method is JoinMethod.KUBEADM else _agent_files(join)
    document = {
        "hostname": join.machine,
        "preserve_hostname": False,
        "write_files": files,
        "runcmd": [[SCRIPT_FILE]],
    }
    return "#cloud-config\n" + json.dumps(document, indent=1) + "\n"


def _agent_files(join: Join) -> list[dict[str, str]]:
    """k3s and RKE2: a configuration file, and a script that adds the provider id and runs the pinned installer."""
    folder = f"/etc/rancher/{join.method}"
    config = {
        "server": _agent_server(join),
        "token": _agent_token(join),
        "node-name": join.machine,
        "node-label": [f"{key}={value}" for key, value in sorted(join.labels.items())],
        "node-taint": [str(taint) for taint in join.taints],
    }
    if join.kubelet_flags:
        config["kubelet-arg"] = [f"{name}={value}" for name, value in join.kubelet_flags.items()]
    return [
        _file(f"{folder}/config.yaml", json.dumps(config, indent=1), "0600"),
        _file(SCRIPT_FILE, agent_script(_agent_settings(join)), "0700"),
    ]


def _agent_settings(join: Join) -> dict[str, str]:
    version = str(join.version)
    common = {"BINARY": join.method.value, "UNIT": f"{join.method}-agent", "VERSION": version}
    if join.method is JoinMethod.RKE2:
        return {**common, "INSTALL_RKE2_VERSION": version, "INSTALL_RKE2_TYPE": "agent"}
    # The installer would start the agent before anybody has looked at what was installed.
    started = {"INSTALL_K3S_EXEC": "agent", "INSTALL_K3S_SKIP_START": "true"}
    return {**common, "INSTALL_K3S_VERSION": version, **started}


def _agent_server(join: Join) -> str:
    """RKE2's agents register at port 9345 of the host that serves the API, unless another port was given."""
    parts = urlsplit(join.endpoint)
    if join.method is JoinMethod.RKE2 and parts.port == 6443:
        return f"{parts.scheme}://{_host(join.endpoint)}:9345"
    return join.endpoint


def _agent_token(join: Join) -> str:
    """The secure form names the authority by the SHA-256 of its PEM file; plain HTTP has no authority to name."""
    if join.ca_pem is None:
        return join.token
    return f"K10{hashlib.sha256(join.ca_pem).hexdigest()}::{join.token}"


def _kubeadm_files(join: Join) -> list[dict[str, str]]:
    """kubeadm: a JoinConfiguration, and a script that completes it with the provider id."""
    labels = ",".join(f"{key}={value}" for key, value in sorted(join.labels.items()))
    config = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "JoinConfiguration",
        "discovery": {"bootstrapToken": _discovery(join)},
        "nodeRegistration": {
            "name": join.machine,
            "taints": [taint.model_dump(mode="json", exclude_defaults=True) for taint in join.taints],
            "kubeletExtraArgs": [
                {"name": "node-labels", "value": labels},
                {"name": "provider-id", "value": "hcloud://INSTANCE_ID"},
                *({"name": name, "value": value} for name, value in join.kubelet_flags.items()),
            ],
        },
    }
    settings = {
        "CONFIG": KUBEADM_FILE,
        "KUBELET_VERSION": str(join.version),
        "RELEASE": join.version.release,
        "MINOR": f"v{join.version.major}.{join.version.minor}",
    }
    return [
        _file(KUBEADM_FILE, json.dumps(config, indent=1), "0600"),
        _file(SCRIPT_FILE, kubeadm_script(settings), "0700"),
    ]


def _discovery(join: Join) -> dict[str, Any]:
    """How kubeadm finds the API server and knows it for the right one. Plain HTTP has no authority to check."""
    parts = urlsplit(join.endpoint)
    known = {"apiServerEndpoint": f"{_host(join.endpoint)}:{parts.port or _PORTS[parts.scheme]}", "token": join.token}
    if join.ca_pem is not None:
        return {**known, "caCertHashes": _public_key_hashes(join.ca_pem)}
    if parts.scheme == "http":
        return {**known, "unsafeSkipCAVerification": True}
    raise FieldRefused(
        "--kubeconfig",
        "it names no certificate authority, and kubeadm joins no cluster whose authority it cannot check",
        hint="register the cluster again with a kubeconfig that has certificate-authority-data",
    )


def _host(endpoint: str) -> str:
    host = urlsplit(endpoint).hostname or ""
    return f"[{host}]" if ":" in host else host


def _public_key_hashes(ca_pem: bytes) -> list[str]:
    """kubeadm pins an authority by the SHA-256 of its DER SubjectPublicKeyInfo, unlike k3s."""
    keys = [certificate.public_key() for certificate in x509.load_pem_x509_certificates(ca_pem)]
    ders = [key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) for key in keys]
    return [f"sha256:{hashlib.sha256(der).hexdigest()}" for der in ders]


def _file(path: str, content: str, permissions: str) -> dict[str, str]:
    return {"path": path, "permissions": permissions, "content": content.rstrip("\n") + "\n"}
