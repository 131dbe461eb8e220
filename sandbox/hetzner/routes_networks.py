"""Routes of private networks, their subnets, routes and members."""

import ipaddress

from sandbox.hetzner import actions, bodies, networks
from sandbox.hetzner.endpoint import NO_CONTENT, Call, Endpoint, Reply, created, ok
from sandbox.hetzner.errors import invalid_input
from sandbox.hetzner.labels import check_labels
from sandbox.hetzner.names import check_name, check_unique
from sandbox.hetzner.paging import chosen, narrow, page
from sandbox.hetzner.records import Network, NetworkRoute, ResourceRef, Subnet
from sandbox.hetzner.updates import update
from sandbox.hetzner.views import action_view, member_view, network_view


def _list(call: Call) -> Reply:
    found = narrow(call.query, call.scope.project.networks.values())
    return page(call, "networks", found, network_view)


def _create(call: Call) -> Reply:
    body, scope = bodies.parse(bodies.CreateNetwork, call.body), call.scope
    check_name(body.name)
    check_labels(body.labels or {})
    whole = networks.parse_range(body.ip_range)
    subnets: list[Subnet] = []
    for wanted in body.subnets or []:
        subnets.append(networks.check_subnet(str(whole), subnets, wanted))
    for route in body.routes or []:
        _check_route(str(whole), route)
    check_unique("network", body.name, scope.project.networks.values())
    network = Network(
        id=scope.new_id(),
        name=body.name,
        labels=body.labels or {},
        created=scope.now,
        ip_range=str(whole),
        subnets=subnets,
        routes=body.routes or [],
        expose_routes_to_vswitch=body.expose_routes_to_vswitch or False,
    )
    scope.project.networks[network.id] = network
    return created({"network": network_view(scope, network)})


def _check_route(ip_range: str, route: NetworkRoute) -> None:
    """The gateway is a host of the network, the destination any IPv4 range."""
    try:
        ipaddress.IPv4Network(route.destination)
        inside = ipaddress.IPv4Address(route.gateway) in ipaddress.IPv4Network(ip_range)
    except ValueError:
        raise invalid_input("routes", "must have a range and an IPv4 address") from None
    if not inside:
        raise invalid_input("gateway", "must be part of the network's range")


def _get(call: Call) -> Reply:
    return ok({"network": network_view(call.scope, networks.find(call.scope, call.id))})


def _update(call: Call) -> Reply:
    network, body = networks.find(call.scope, call.id), bodies.parse(bodies.UpdateNetwork, call.body)
    update("network", network, call.scope.project.networks, body)
    if body.expose_routes_to_vswitch is not None:
        network.expose_routes_to_vswitch = body.expose_routes_to_vswitch
    return ok({"network": network_view(call.scope, network)})


def _delete(call: Call) -> Reply:
    networks.delete(call.scope, networks.find(call.scope, call.id))
    return NO_CONTENT


def _members(call: Call) -> Reply:
    network, query = networks.find(call.scope, call.id), call.query
    types = chosen(query, "type", ("server", "load_balancer"))
    states = chosen(query, "status", ("ok", "attaching", "detaching", "updating", "error"))
    subnets = query.all("subnet")
    found = [
        (server, nic)
        for server, nic in networks.members(call.scope, network.id)
        if "server" in types and nic.state in states and (not subnets or nic.subnet in subnets)
    ]
    return page(call, "members", found, member_view)


def _done(call: Call, network: Network, command: str) -> Reply:
    ref = ResourceRef(id=network.id, type="network")
    action = actions.start(call.scope, command, call.scope.world.timings.change, ref)
    return created({"action": action_view(call.scope, action)})


def _add_subnet(call: Call) -> Reply:
    network, body = networks.find(call.scope, call.id), bodies.parse(bodies.SubnetBody, call.body)
    network.subnets.append(networks.check_subnet(network.ip_range, network.subnets, body))
    return _done(call, network, "add_subnet")


def _delete_subnet(call: Call) -> Reply:
    network, body = networks.find(call.scope, call.id), bodies.parse(bodies.DeleteSubnet, call.body)
    subnet = next((item for item in network.subnets if item.ip_range == body.ip_range), None)
    if subnet is None:
        raise invalid_input("ip_range", "is no subnet of the network")
    if any(nic.subnet == subnet.ip_range for _, nic in networks.members(call.scope, network.id)):
        raise invalid_input("ip_range", "subnet still has members")
    network.subnets.remove(subnet)
    return _done(call, network, "delete_subnet")


def _add_route(call: Call) -> Reply:
    network, route = networks.find(call.scope, call.id), bodies.parse(NetworkRoute, call.body)
    _check_route(network.ip_range, route)
    network.routes.append(route)
    return _done(call, network, "add_route")


def _delete_route(call: Call) -> Reply:
    network, route = networks.find(call.scope, call.id), bodies.parse(NetworkRoute, call.body)
    if route not in network.routes:
        raise invalid_input("destination", "is no route of the network")
    network.routes.remove(route)
    return _done(call, network, "delete_route")


def _protect(call: Call) -> Reply:
    network, body = networks.find(call.scope, call.id), bodies.parse(bodies.ChangeProtection, call.body)
    if body.delete is not None:
        network.delete_protection = body.delete
    return _done(call, network, "change_protection")


ENDPOINTS = (
    Endpoint("GET", "/networks", _list),
    Endpoint("POST", "/networks", _create),
    Endpoint("GET", "/networks/{id}", _get),
    Endpoint("PUT", "/networks/{id}", _update),
    Endpoint("DELETE", "/networks/{id}", _delete),
    Endpoint("GET", "/networks/{id}/members", _members),
    Endpoint("POST", "/networks/{id}/actions/add_subnet", _add_subnet),
    Endpoint("POST", "/networks/{id}/actions/delete_subnet", _delete_subnet),
    Endpoint("POST", "/networks/{id}/actions/add_route", _add_route),
    Endpoint("POST", "/networks/{id}/actions/delete_route", _delete_route),
    Endpoint("POST", "/networks/{id}/actions/change_protection", _protect),
)
