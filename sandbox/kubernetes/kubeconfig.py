"""A kubeconfig with a token, for a cluster of either kind."""

from __future__ import annotations

import base64
import json


def kubeconfig(url: str, authority_pem: str, user: str, token: str) -> str:
    """A kubeconfig (JSON, which is YAML) for the API at `url`."""
    authority = base64.b64encode(authority_pem.encode()).decode()
    named = {
        "clusters": [{"name": "sandbox", "cluster": {"server": url, "certificate-authority-data": authority}}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": user}}],
    }
    return json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "sandbox", **named}, indent=2)
