"""Reads a kubeconfig text: the current context's server, its authority, and how the user proves who it is."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any

import yaml

from activities.cluster_errors import ClusterError


@dataclass(frozen=True)
class Kubeconfig:
    """What a connection needs. Printed, it shows no secret."""

    server: str
    ca_pem: bytes | None = None
    token: str | None = field(default=None, repr=False)
    client_cert: bytes | None = field(default=None, repr=False)
    client_key: bytes | None = field(default=None, repr=False)
    verify: bool = True
    tls_server_name: str | None = None


def read_kubeconfig(text: str) -> Kubeconfig:
    """Parse the current context. Raises ClusterError when it is not whole, without quoting any of it."""
    try:
        whole = yaml.safe_load(text)
        context = _named(whole["contexts"], whole["current-context"], "context")
        cluster = _named(whole["clusters"], context["cluster"], "cluster")
        user = _named(whole["users"], context["user"], "user")
        return Kubeconfig(
            server=str(cluster["server"]).rstrip("/"),
            ca_pem=_data(cluster, "certificate-authority-data"),
            token=user.get("token"),
            client_cert=_data(user, "client-certificate-data"),
            client_key=_data(user, "client-key-data"),
            verify=not cluster.get("insecure-skip-tls-verify", False),
            tls_server_name=cluster.get("tls-server-name"),
        )
    except (yaml.YAMLError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise bad_kubeconfig(f"it is not whole ({type(error).__name__})") from None


def bad_kubeconfig(why: str) -> ClusterError:
    """The error for a kubeconfig that no connection can be made with. `why` must not quote it."""
    return ClusterError(None, "BadKubeconfig", f"the kubeconfig cannot be used: {why}")


def _named(entries: list[dict[str, Any]], name: str, field_name: str) -> dict[str, Any]:
    by_name: dict[str, dict[str, Any]] = {entry["name"]: entry[field_name] for entry in entries}
    return by_name[name]


def _data(entry: dict[str, Any], key: str) -> bytes | None:
    return base64.b64decode(entry[key], validate=True) if entry.get(key) else None
