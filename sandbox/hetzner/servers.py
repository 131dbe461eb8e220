"""Ordering a server: the checks in the API's order, and what comes into being when all of them pass."""

import secrets
from dataclasses import dataclass
from datetime import timedelta

from sandbox.hetzner import actions, firewalls, networks, placement, primary_ips, ssh_keys
from sandbox.hetzner.bodies import AttachToNetwork, CreateServer, PublicNet
from sandbox.hetzner.catalogue import LOCATIONS, Location, ServerType, find_location, find_server_type
from sandbox.hetzner.errors import ApiError, invalid_input, limit_exceeded, not_found
from sandbox.hetzner.images import Image, find_image
from sandbox.hetzner.labels import check_labels
from sandbox.hetzner.names import check_hostname, check_unique, check_user_data
from sandbox.hetzner.records import Action, IpType, ResourceRef, Server
from sandbox.hetzner.world import Scope


@dataclass(frozen=True)
class Order:
    """A request whose references are resolved."""

    body: CreateServer
    server_type: ServerType
    location: Location
    image: Image
    ssh_keys: list[int]

    @property
    def public_net(self) -> PublicNet:
        return self.body.public_net or PublicNet()


@dataclass(frozen=True)
class Created:
    server: Server
    action: Action
    next_actions: list[Action]
    root_password: str | None


def create(scope: Scope, body: CreateServer) -> Created:
    """Raises `ApiError` for the first check that fails; nothing is changed then."""
    order = _resolve(scope, body)
    _check_place(scope, order)
    _check_limits(scope, order)
    check_unique("server", body.name, scope.project.servers.values())
    server = _build(scope, order)
    scope.world.stock.take(order.server_type, order.location)
    action, next_actions = _start_actions(scope, order, server)
    password = None if order.ssh_keys else secrets.token_urlsafe(15)
    return Created(server, action, next_actions, password)


def _resolve(scope: Scope, body: CreateServer) -> Order:
    check_hostname(body.name)
    check_labels(body.labels or {})
    check_user_data(body.user_data or "")
    server_type = find_server_type(body.server_type)
    if server_type is None:
        raise invalid_input("server_type", f"server type '{body.server_type}' not found")
    location = _location(scope, body, server_type)
    image = find_image(body.image, server_type.architecture)
    if image is None:
        raise not_found("image", body.image)
    if image.architecture != server_type.architecture:
        raise ApiError("invalid_input", "image has incompatible architecture", {})
    keys = [ssh_keys.find(scope, reference).id for reference in body.ssh_keys or []]
    return Order(body, server_type, location, image, keys)


def _location(scope: Scope, body: CreateServer, server_type: ServerType) -> Location:
    stock = scope.world.stock
    if body.location is None:
        choices = [item for item in LOCATIONS if stock.orderable(server_type, item, scope.now)]
        if not choices:
            raise ApiError("resource_unavailable", "error during placement")
        return choices[0]
    location = find_location(body.location)
    if location is None:
        raise invalid_input("location", f"location '{body.location}' not found")
    if not stock.supported(server_type, location, scope.now):
        raise ApiError("invalid_input", "unsupported location for server type", {})
    return location


def _check_place(scope: Scope, order: Order) -> None:
    """What the order refers to exists and fits, and the location can take it."""
    body = order.body
    for volume in body.volumes or []:
        raise not_found("volume", volume)
    attach = len(body.networks or [])
    if not (order.public_net.enable_ipv4 or order.public_net.enable_ipv6 or attach):
        raise invalid_input("public_net", "a server without public addresses needs a network")
    for network_id in body.networks or []:
        request = AttachToNetwork(network=network_id)
        networks.check_attachable(scope, networks.find(scope, network_id), order.location.name, request)
    for reference in body.firewalls or []:
        firewalls.find(scope, reference.firewall)
    for ip_type, chosen in _chosen_addresses(order.public_net):
        primary_ips.check_usable(scope, chosen, ip_type, order.location.name)
    if order.location.name in scope.world.stock.disabled_locations:
        raise ApiError("resource_unavailable", "server location disabled", {})
    if not scope.world.stock.orderable(order.server_type, order.location, scope.now):
        raise ApiError("resource_unavailable", "error during placement")


def _chosen_addresses(public_net: PublicNet) -> list[tuple[IpType, int]]:
    chosen: list[tuple[IpType, int]] = []
    if public_net.enable_ipv4 and public_net.ipv4 is not None:
        chosen.append(("ipv4", public_net.ipv4))
    if public_net.enable_ipv6 and public_net.ipv6 is not None:
        chosen.append(("ipv6", public_net.ipv6))
    return chosen


def _check_limits(scope: Scope, order: Order) -> None:
    if order.body.placement_group is not None:
        placement.check_room(scope, order.body.placement_group)
    if len(scope.project.servers) >= scope.project.limits.servers:
        raise limit_exceeded("server", "server_limit")
    if len(order.body.firewalls or []) > firewalls.PER_SERVER:
        raise limit_exceeded("firewalls per server", "firewalls_per_server_limit")
    if order.public_net.enable_ipv4 and order.public_net.ipv4 is None:
        primary_ips.check_quota(scope)


def _build(scope: Scope, order: Order) -> Server:
    body, faults, counters = order.body, scope.world.faults, scope.world.counters
    counters.server += 1
    lag = faults.on_name("stale_list", body.name)
    net = order.public_net
    server = Server(
        id=counters.server,
        name=body.name,
        labels=body.labels or {},
        created=scope.now,
        server_type=order.server_type.name,
        image=order.image.id,
        location=order.location.name,
        status="initializing",
        user_data=body.user_data or "",
        ssh_keys=order.ssh_keys,
        ipv4=_address(scope, order, "ipv4", net.ipv4) if net.enable_ipv4 else None,
        ipv6=_address(scope, order, "ipv6", net.ipv6) if net.enable_ipv6 else None,
        placement_group=body.placement_group,
        stuck=faults.on_name("stuck_initializing", body.name) is not None,
        listed_from=scope.now + timedelta(seconds=0 if lag is None else lag.seconds),
    )
    scope.project.servers[server.id] = server
    for primary_ip in scope.project.primary_ips.values():
        if primary_ip.id in {server.ipv4, server.ipv6}:
            primary_ip.assignee_id = server.id
    for reference in body.firewalls or []:
        firewalls.find(scope, reference.firewall).servers.append(server.id)
    return server


def _address(scope: Scope, order: Order, ip_type: IpType, chosen: int | None) -> int:
    if chosen is not None:
        return chosen
    return primary_ips.make(scope, ip_type, order.location.name, auto_delete=True).id


def _start_actions(scope: Scope, order: Order, server: Server) -> tuple[Action, list[Action]]:
    """`create_server` and what follows it; on a stuck server none of them ever ends."""
    timings, ref = scope.world.timings, actions.server_ref(server)
    image = ResourceRef(id=order.image.id, type="image")
    created = None if server.stuck else timings.create
    action = actions.start(scope, "create_server", created, ref, image)
    following = []
    if order.body.start_after_create is not False:
        started = None if created is None else created + timings.start
        following.append(actions.start(scope, "start_server", started, ref, parent=action))
    late = scope.world.faults.on_name("late_nic", server.name) if order.body.networks else None
    for network_id in order.body.networks or []:
        networks.reserve(scope, server, AttachToNetwork(network=network_id))
        network = ResourceRef(id=network_id, type="network")
        attached = None if created is None else created + timings.network + (late.seconds if late else 0)
        following.append(actions.start(scope, "attach_to_network", attached, ref, network, parent=action))
    return action, following
