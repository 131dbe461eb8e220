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

from core.calls import JoinMethod
from core.join_scripts import AGENT_SCRIPT, KUBEADM_SCRIPT
from core.labels import Taint
from core.version import Version

KUBEADM_FILE = "/etc/kubernetes/managed-pool-join.yaml"
SCRIPT_FILE = "/usr/local/sbin/managed-pool-join"


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

    @property
    def token(self) -> str:
        """The bootstrap token, `id.secret`."""
        return f"{self.token_id}.{self.token_secret}"


def render(join: Join) -> str:
    """The user-data for `join`, a #cloud-config document."""
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
    prefix = "INSTALL_K3S" if join.method is JoinMethod.K3S else "INSTALL_RKE2"
    script = AGENT_SCRIPT.format(
        folder=folder,
        prefix=prefix,
        version=join.version,
        installer=f"https://get.{join.method}.io",
        kind=f"{prefix}_EXEC=agent" if join.method is JoinMethod.K3S else f"{prefix}_TYPE=agent",
        unit="k3s-agent" if join.method is JoinMethod.K3S else "rke2-agent",
        binary=join.method,
    )
    return [_file(f"{folder}/config.yaml", json.dumps(config, indent=1), "0600"), _file(SCRIPT_FILE, script, "0700")]


def _agent_server(join: Join) -> str:
    """RKE2's agents register at port 9345 of the host that serves the API, unless another port was given."""
    parts = urlsplit(join.endpoint)
    if join.method is JoinMethod.RKE2 and parts.port == 6443:
        return f"{parts.scheme}://{parts.hostname}:9345"
    return join.endpoint


def _agent_token(join: Join) -> str:
    """The secure form names the authority by the SHA-256 of its PEM file; plain HTTP has no authority to name."""
    if join.ca_pem is None:
        return join.token
    return f"K10{hashlib.sha256(join.ca_pem).hexdigest()}::{join.token}"


def _kubeadm_files(join: Join) -> list[dict[str, str]]:
    """kubeadm: a JoinConfiguration, and a script that completes it with the provider id."""
    discovery: dict[str, Any] = {"apiServerEndpoint": _host_and_port(join.endpoint), "token": join.token}
    if join.ca_pem is None:
        discovery["unsafeSkipCAVerification"] = True
    else:
        discovery["caCertHashes"] = [f"sha256:{_public_key_hash(join.ca_pem)}"]
    labels = ",".join(f"{key}={value}" for key, value in sorted(join.labels.items()))
    config = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "JoinConfiguration",
        "discovery": {"bootstrapToken": discovery},
        "nodeRegistration": {
            "name": join.machine,
            "taints": [taint.model_dump(mode="json", exclude_defaults=True) for taint in join.taints],
            "kubeletExtraArgs": [
                {"name": "node-labels", "value": labels},
                {"name": "provider-id", "value": "hcloud://INSTANCE_ID"},
            ],
        },
    }
    script = KUBEADM_SCRIPT.format(
        config=KUBEADM_FILE,
        version=join.version,
        release=join.version.release,
        minor=f"v{join.version.major}.{join.version.minor}",
    )
    return [_file(KUBEADM_FILE, json.dumps(config, indent=1), "0600"), _file(SCRIPT_FILE, script, "0700")]


def _host_and_port(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    return f"{parts.hostname}:{parts.port or (80 if parts.scheme == 'http' else 443)}"


def _public_key_hash(ca_pem: bytes) -> str:
    """kubeadm pins an authority by the SHA-256 of its DER SubjectPublicKeyInfo, unlike k3s."""
    public = x509.load_pem_x509_certificate(ca_pem).public_key()
    return hashlib.sha256(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def _file(path: str, content: str, permissions: str) -> dict[str, str]:
    return {"path": path, "permissions": permissions, "content": content + "\n"}
