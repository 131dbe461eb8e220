"""The official client, made from a kubeconfig that never touches a home directory."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

from kubernetes.aio.client import ApiClient, Configuration

from activities.kubeconfig import Kubeconfig, bad_kubeconfig


def client_for(config: Kubeconfig) -> ApiClient:
    """The official client. Python's TLS takes client certificates from files alone, so they are on disk while it reads.

    Raises ClusterError when certificates or key are none.
    """
    built = Configuration(host=config.server)
    built.verify_ssl = config.verify
    built.tls_server_name = config.tls_server_name
    # Strict checks refuse authorities that kubectl accepts, for want of a key identifier.
    built.disable_strict_ssl_verification = True
    with tempfile.TemporaryDirectory(prefix="managed-node-pools-") as folder:
        if config.client_cert is not None and config.client_key is not None:
            built.cert_file = _private_file(f"{folder}/client.pem", config.client_cert)
            built.key_file = _private_file(f"{folder}/client-key.pem", config.client_key)
        try:
            built.ca_cert_data = config.ca_pem.decode() if config.ca_pem else None
            return ApiClient(built)
        except (ssl.SSLError, UnicodeDecodeError) as error:
            raise bad_kubeconfig(f"its certificates or key are not PEM ({type(error).__name__})") from None


def _private_file(name: str, data: bytes) -> str:
    path = Path(name)
    path.touch(mode=0o600)
    path.write_bytes(data)
    return name
