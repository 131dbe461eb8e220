"""Private networks: subnets per network zone, addresses of servers in them, and who is a member."""

import ipaddress
from collections.abc import Iterable

from sandbox.hetzner.addresses import free_host, gateway, mac_address
from sandbox.hetzner.bodies import AttachToNetwork, SubnetBody
from sandbox.hetzner.catalogue import LOCATION, LOCATIONS
from sandbox.hetzner.errors import ApiError, invalid_input, limit_exceeded, not_found
from sandbox.hetzner.records import Network, PrivateNic, Server, Subnet
from sandbox.hetzner.world import Scope

# Limits of one network as the documentation gives them.
ATTACHED_RESOURCES = 100
SUBNETS = 50


def find(scope: Scope, network_id: int) -> Network:
    network = scope.project.networks.get(network_id)
    if network is None:
        raise not_found("network", network_id)
    return network


def parse_range(text: str, field: str = "ip_range") -> ipaddress.IPv4Network:
    """A private IPv4 range in CIDR notation. Raises `ApiError` invalid_input for anything else."""
    try:
        parsed = ipaddress.IPv4Network(text)
    except ValueError:
        raise invalid_input(field, "must be a network in CIDR notation") from None
    if not parsed.is_private or parsed.prefixlen > 29:
        raise invalid_input(field, "must be a private range of at least /29")
    return parsed


def check_subnet(network_range: str, existing: list[Subnet], body: SubnetBody) -> Subnet:
    """The subnet that `body` asks for; without a range it gets the first free /24."""
    if len(existing) >= SUBNETS:
        raise limit_exceeded("subnet", "subnet_limit")
    if body.network_zone not in {location.network_zone for location in LOCATIONS}:
        raise invalid_input("network_zone", "unknown network zone")
    whole = parse_range(network_range)
    chosen = parse_range(body.ip_range) if body.ip_range else _free_range(whole, existing)
    if not chosen.subnet_of(whole):
        raise invalid_input("ip_range", "must be part of the network's range")
    if _overlaps(chosen, existing):
        raise invalid_input("ip_range", "overlaps with another subnet")
    return Subnet(
        type=body.type,
        ip_range=str(chosen),
        network_zone=body.network_zone,
        gateway=gateway(str(chosen)),
        vswitch_id=body.vswitch_id,
    )


def _free_range(whole: ipaddress.IPv4Network, existing: list[Subnet]) -> ipaddress.IPv4Network:
    candidates = whole.subnets(new_prefix=24) if whole.prefixlen < 24 else iter([whole])
    for candidate in candidates:
        if not _overlaps(candidate, existing):
            return candidate
    raise ApiError("invalid_input", "no free range left in the network", {})


def _overlaps(candidate: ipaddress.IPv4Network, existing: list[Subnet]) -> bool:
    return any(candidate.overlaps(ipaddress.IPv4Network(subnet.ip_range)) for subnet in existing)


def members(scope: Scope, network_id: int) -> list[tuple[Server, PrivateNic]]:
    return [
        (server, nic)
        for server in scope.project.servers.values()
        for nic in server.private_nics
        if nic.network == network_id
    ]


def check_attachable(scope: Scope, network: Network, location: str, body: AttachToNetwork) -> tuple[str, str]:
    """The subnet and address a server in `location` would get. Raises `ApiError` where there is none."""
    taken = [nic.ip for _, nic in members(scope, network.id)]
    if len(taken) >= ATTACHED_RESOURCES:
        raise limit_exceeded("network attachment", "network_attachment_limit")
    subnets = _subnets_for(network, location, body.ip_range)
    if body.ip is not None:
        return _subnet_holding(subnets, body.ip, taken), body.ip
    for subnet in subnets:
        address = free_host(subnet.ip_range, taken)
        if address is not None:
            return subnet.ip_range, address
    raise ApiError("ip_not_available", "no IP address is available in the network")


def _subnets_for(network: Network, location: str, ip_range: str | None) -> list[Subnet]:
    zone = LOCATION[location].network_zone
    found = [
        subnet for subnet in network.subnets if subnet.network_zone == zone and ip_range in {None, subnet.ip_range}
    ]
    if not found:
        raise ApiError("no_subnet_available", "no subnet is available in the server's network zone")
    return found


def _subnet_holding(subnets: list[Subnet], ip: str, taken: Iterable[str]) -> str:
    try:
        address = ipaddress.IPv4Address(ip)
    except ValueError:
        raise invalid_input("ip", "must be an IPv4 address") from None
    for subnet in subnets:
        usable = address in ipaddress.IPv4Network(subnet.ip_range) and ip != subnet.gateway
        if usable and ip not in set(taken):
            return subnet.ip_range
    raise ApiError("ip_not_available", f"IP {ip} is not available in the network")


def reserve(scope: Scope, server: Server, body: AttachToNetwork) -> PrivateNic:
    """Hold an address for the server's new card; it shows once its action is done."""
    network = find(scope, body.network)
    if any(nic.network == network.id for nic in server.private_nics):
        raise ApiError("server_already_attached", "server is already attached to the network")
    subnet, address = check_attachable(scope, network, server.location, body)
    nic = PrivateNic(
        network=network.id,
        ip=address,
        alias_ips=body.alias_ips or [],
        mac_address=mac_address(scope.new_id()),
        subnet=subnet,
    )
    server.private_nics.append(nic)
    return nic


def delete(scope: Scope, network: Network) -> None:
    """Servers are detached at once. Raises `ApiError` protected."""
    if network.delete_protection:
        raise ApiError("protected", "network deletion is protected", {})
    for server, nic in members(scope, network.id):
        server.private_nics.remove(nic)
    del scope.project.networks[network.id]
