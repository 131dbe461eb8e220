"""All routes of the API in one table, and how a path finds its own."""

from dataclasses import dataclass

from sandbox.hetzner import (
    routes_actions,
    routes_catalogue,
    routes_firewalls,
    routes_keys_and_groups,
    routes_networks,
    routes_primary_ips,
    routes_server_actions,
    routes_servers,
)
from sandbox.hetzner.endpoint import Endpoint
from sandbox.hetzner.errors import ApiError

ENDPOINTS: tuple[Endpoint, ...] = (
    *routes_catalogue.ENDPOINTS,
    *routes_servers.ENDPOINTS,
    *routes_server_actions.ENDPOINTS,
    *routes_keys_and_groups.ENDPOINTS,
    *routes_networks.ENDPOINTS,
    *routes_firewalls.ENDPOINTS,
    *routes_primary_ips.ENDPOINTS,
    *routes_actions.ENDPOINTS,
)


@dataclass(frozen=True)
class Found:
    """What a path leads to: its template and the methods it knows."""

    template: str
    ids: dict[str, int]
    methods: dict[str, Endpoint]

    def endpoint(self, method: str) -> Endpoint:
        """Raises `ApiError` method_not_allowed."""
        if method not in self.methods:
            raise ApiError("method_not_allowed", "method not allowed")
        return self.methods[method]


def find(path: str) -> Found | None:
    """`path` is what follows `/v1`; None when no route has it."""
    matches = [(endpoint, ids) for endpoint in ENDPOINTS if (ids := endpoint.match(path)) is not None]
    if not matches:
        return None
    first, ids = matches[0]
    return Found(first.template, ids, {endpoint.method: endpoint for endpoint, _ in matches})
