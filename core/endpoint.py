"""Where nodes reach an API server."""

from __future__ import annotations

from urllib.parse import urlsplit

from core.errors import FieldRefused

ENDPOINT_RULE = "an API endpoint such as https://10.0.0.1:6443, with no path"


def joinable(endpoint: str) -> bool:
    """Whether nodes can be sent to `endpoint`: scheme, host, at most a port.

    A path, as management servers have that pass calls on, leads no kubelet to its cluster.
    """
    try:
        parts = urlsplit(endpoint)
        bare = (parts.path, parts.query, parts.fragment, parts.username) == ("", "", "", None)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and bare
    except ValueError:  # a port that is none
        return False


def check_endpoint(field: str, endpoint: str) -> None:
    """Refuse an endpoint that no node can be sent to. Raises FieldRefused."""
    if not joinable(endpoint.rstrip("/")):
        raise FieldRefused(field, f"{endpoint!r} is not {ENDPOINT_RULE}", hint="name the address that nodes reach")
