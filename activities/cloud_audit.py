"""What is left of a pool in its Hetzner project."""

from __future__ import annotations

from dataclasses import dataclass

from hcloud import APIException, Client

from core import calls
from core.ownership import pool_selector


@dataclass(frozen=True)
class CloudLeftovers:
    """Ids of what is left."""

    servers: list[int]
    primary_ips: list[int]
    ssh_keys: list[int]


def look_for_leftovers(client: Client, call: calls.AuditPool) -> CloudLeftovers:
    """Servers by our labels and by every id the pool ever had, the IPs assigned to them, and keys by our labels."""
    selector = pool_selector(call.owner)
    servers = {int(server.id or 0) for server in client.servers.get_all(label_selector=selector)}
    servers |= {server_id for server_id in call.server_ids if _exists(client, server_id)}
    once_ours = servers | set(call.server_ids)
    ips = [int(ip.id or 0) for ip in client.primary_ips.get_all() if ip.assignee_id in once_ours]
    keys = [int(key.id or 0) for key in client.ssh_keys.get_all(label_selector=selector)]
    return CloudLeftovers(sorted(servers), sorted(ips), sorted(keys))


def _exists(client: Client, server_id: int) -> bool:
    try:
        client.servers.get_by_id(server_id)
    except APIException as error:
        if error.code == "not_found":
            return False
        raise
    return True
