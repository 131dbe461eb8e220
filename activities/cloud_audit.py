"""What is left of a pool in its Hetzner project."""

from __future__ import annotations

from dataclasses import dataclass

from hcloud import Client

from core import calls
from core.ownership import owned_by, pool_selector


@dataclass(frozen=True)
class CloudLeftovers:
    """Ids of what is left."""

    servers: list[int]
    primary_ips: list[int]
    ssh_keys: list[int]


def look_for_leftovers(client: Client, call: calls.AuditPool) -> CloudLeftovers:
    """Servers and keys by our labels, servers by every id the pool ever had, IPs of such servers or with our labels.

    The project is listed once: a pool may have had thousands of servers, and the request budget is 3600 an hour.
    """
    ever_ours = set(call.server_ids)
    servers = {
        int(server.id or 0)
        for server in client.servers.get_all()
        if server.id in ever_ours or owned_by(server.labels or {}, call.owner)
    }
    ips = {
        int(ip.id or 0)
        for ip in client.primary_ips.get_all()
        if ip.assignee_id in ever_ours | servers or owned_by(ip.labels or {}, call.owner)
    }
    keys = [int(key.id or 0) for key in client.ssh_keys.get_all(label_selector=pool_selector(call.owner))]
    return CloudLeftovers(sorted(servers), sorted(ips), sorted(keys))
