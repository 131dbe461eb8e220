"""Primary IPs: made with a server or by the user, held by at most one server, some of them gone with it."""

from sandbox.hetzner.actions import check_unlocked
from sandbox.hetzner.addresses import next_ipv4, next_ipv6
from sandbox.hetzner.errors import ApiError, limit_exceeded, not_found
from sandbox.hetzner.records import IpType, PrimaryIp, Server
from sandbox.hetzner.world import Scope


def check_quota(scope: Scope) -> None:
    """Raises `ApiError` resource_limit_exceeded. Only IPv4 counts: going without it is the known way out."""
    held = sum(1 for item in scope.project.primary_ips.values() if item.type == "ipv4")
    if held >= scope.project.limits.primary_ips:
        raise limit_exceeded("Primary IP", "primary_ip_limit")


def make(
    scope: Scope,
    ip_type: IpType,
    location: str,
    *,
    name: str | None = None,
    labels: dict[str, str] | None = None,
    auto_delete: bool,
) -> PrimaryIp:
    """A new address of the project, not yet assigned. Unnamed ones get the cloud's own kind of name."""
    new_id = scope.new_id()
    counters = scope.world.counters
    address = next_ipv4(counters) if ip_type == "ipv4" else next_ipv6(counters)
    primary_ip = PrimaryIp(
        id=new_id,
        name=name or f"primary_ip-{new_id}",
        labels=labels or {},
        created=scope.now,
        ip=address,
        type=ip_type,
        location=location,
        auto_delete=auto_delete,
        dns_ptr={address: _default_name(address)} if ip_type == "ipv4" else {},
    )
    scope.project.primary_ips[new_id] = primary_ip
    return primary_ip


def check_usable(scope: Scope, primary_ip_id: int, ip_type: IpType, location: str) -> PrimaryIp:
    """The user's own address for a new server. Raises `ApiError` when it does not fit or is taken."""
    primary_ip = scope.project.primary_ips.get(primary_ip_id)
    if primary_ip is None:
        raise not_found("Primary IP", primary_ip_id)
    if primary_ip.type != ip_type:
        raise ApiError("primary_ip_version_mismatch", f"Primary IP is not of type {ip_type}")
    if primary_ip.location != location:
        raise ApiError("primary_ip_datacenter_mismatch", "Primary IP is in a different location")
    if primary_ip.assignee_id is not None:
        raise ApiError("primary_ip_assigned", "Primary IP is already assigned")
    return primary_ip


def assign(scope: Scope, primary_ip: PrimaryIp, server_id: int) -> Server:
    """Give a stopped server an address it lacks. Raises `ApiError` where the API refuses."""
    server = scope.project.servers.get(server_id)
    if server is None:
        raise not_found("server", server_id)
    if primary_ip.assignee_id is not None:
        raise ApiError("primary_ip_already_assigned", "Primary IP is already assigned")
    check_usable(scope, primary_ip.id, primary_ip.type, server.location)
    check_assignable(server, primary_ip.type)
    _hold(server, primary_ip.type, primary_ip.id)
    primary_ip.assignee_id = server.id
    return server


def check_assignable(server: Server, ip_type: IpType) -> None:
    """Raises `ApiError` unless the server is off, at rest, and without an address of the type."""
    check_unlocked(server)
    if server.status != "off":
        raise ApiError("server_not_stopped", "server must be stopped")
    held = server.ipv4 if ip_type == "ipv4" else server.ipv6
    if held is not None:
        raise ApiError(f"server_has_{ip_type}", f"server already has an {ip_type} address")


def unassign(scope: Scope, primary_ip: PrimaryIp) -> Server:
    """Take the address from its stopped server."""
    if primary_ip.assignee_id is None:
        raise ApiError("invalid_input", "Primary IP is not assigned", {})
    server = scope.project.servers[primary_ip.assignee_id]
    check_unlocked(server)
    if server.status != "off":
        raise ApiError("server_not_stopped", "server must be stopped")
    _hold(server, primary_ip.type, None)
    primary_ip.assignee_id = None
    return server


def delete(scope: Scope, primary_ip: PrimaryIp) -> None:
    if primary_ip.delete_protection:
        raise ApiError("protected", "Primary IP deletion is protected", {})
    if primary_ip.assignee_id is not None:
        raise ApiError("must_be_unassigned", "Primary IP must be unassigned", {})
    del scope.project.primary_ips[primary_ip.id]


def release_all(scope: Scope, server: Server) -> None:
    """With the server go the addresses that are to be deleted with it; the others stay and keep costing."""
    for primary_ip in list(scope.project.primary_ips.values()):
        if primary_ip.assignee_id != server.id:
            continue
        primary_ip.assignee_id = None
        if primary_ip.auto_delete:
            del scope.project.primary_ips[primary_ip.id]


def _hold(server: Server, ip_type: IpType, primary_ip_id: int | None) -> None:
    if ip_type == "ipv4":
        server.ipv4 = primary_ip_id
    else:
        server.ipv6 = primary_ip_id


def _default_name(address: str) -> str:
    return f"static.{'.'.join(reversed(address.split('.')))}.clients.your-server.de"
