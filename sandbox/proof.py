"""What really is in the simulated cloud and cluster, read past the product, to check what it claims."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.request
from dataclasses import dataclass
from typing import Any

from sandbox.launcher import Sandbox

TIMEOUT_S = 10


@dataclass(frozen=True)
class Left:
    """How much of each kind exists."""

    servers: int
    primary_ips: int
    ssh_keys: int
    nodes: int
    bootstrap_secrets: int

    def __str__(self) -> str:
        return ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in vars(self).items())


class Proof:
    """Reads both simulators with the same credentials that the product has."""

    def __init__(self, box: Sandbox) -> None:
        facts = box.facts()
        self._cloud, self._cluster = str(facts["hetzner"]), str(facts["kubernetes"])
        tokens = facts["tokens"]
        assert isinstance(tokens, dict)
        self._cloud_token = tokens["read_write"]
        kubeconfig = json.loads(box.layout.kubeconfig.read_text())
        self._cluster_token = kubeconfig["users"][0]["user"]["token"]
        authority = kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"]
        self._tls = ssl.create_default_context(cadata=base64.b64decode(authority).decode())

    def cloud(self, path: str) -> list[dict[str, Any]]:
        """A list of the Hetzner API, such as `servers`."""
        answer = _ask(f"{self._cloud}/{path}?per_page=50", self._cloud_token, None)
        found: list[dict[str, Any]] = answer[path]
        return found

    def cluster(self, path: str) -> list[dict[str, Any]]:
        """A list of the Kubernetes API, such as `/api/v1/nodes`."""
        found: list[dict[str, Any]] = _ask(self._cluster + path, self._cluster_token, self._tls)["items"]
        return found

    def put_in_cluster(self, path: str, body: dict[str, Any]) -> None:
        """Create an object in the cluster, as a user with kubectl would."""
        _ask(self._cluster + path, self._cluster_token, self._tls, body)

    def left(self) -> Left:
        """Everything that a pool may have made."""
        secrets = self.cluster("/api/v1/namespaces/kube-system/secrets")
        return Left(
            servers=len(self.cloud("servers")),
            primary_ips=len(self.cloud("primary_ips")),
            ssh_keys=len(self.cloud("ssh_keys")),
            nodes=len(self.cluster("/api/v1/nodes")),
            bootstrap_secrets=sum(each["metadata"]["name"].startswith("bootstrap-token-") for each in secrets),
        )


def _ask(url: str, token: str, tls: ssl.SSLContext | None, body: dict[str, Any] | None = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, data, headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=tls) as answer:
        read: dict[str, Any] = json.load(answer)
        return read
