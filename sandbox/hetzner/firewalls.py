"""Firewalls: their rules and the servers they stand before, named by id or followed by label selector."""

import ipaddress

from sandbox.hetzner.bodies import FirewallTarget
from sandbox.hetzner.errors import ApiError, invalid_input, limit_exceeded, not_found
from sandbox.hetzner.labels import parse_selector
from sandbox.hetzner.records import Firewall, FirewallRule, Server
from sandbox.hetzner.world import Scope

PER_SERVER = 5


def find(scope: Scope, firewall_id: int) -> Firewall:
    firewall = scope.project.firewalls.get(firewall_id)
    if firewall is None:
        raise not_found("firewall", firewall_id)
    return firewall


def check_rules(rules: list[FirewallRule]) -> None:
    """Raises `ApiError` invalid_input for a rule without its port or addresses, or with bad ones."""
    for rule in rules:
        if (rule.port is not None) != (rule.protocol in {"tcp", "udp"}):
            raise invalid_input("rules", "port is required for tcp and udp and only for them")
        addresses = rule.source_ips if rule.direction == "in" else rule.destination_ips
        if not addresses:
            raise invalid_input("rules", f"a rule of direction {rule.direction} needs addresses")
        for address in rule.source_ips + rule.destination_ips:
            _check_address(address)


def _check_address(address: str) -> None:
    try:
        ipaddress.ip_network(address)
    except ValueError:
        raise invalid_input("rules", f"'{address}' is not a network in CIDR notation") from None


def before(scope: Scope, server: Server) -> list[int]:
    """Ids of the firewalls in force before a server."""
    return [item.id for item in scope.project.firewalls.values() if _covers(item, server)]


def _covers(firewall: Firewall, server: Server) -> bool:
    if server.id in firewall.servers:
        return True
    return any(parse_selector(selector)(server.labels) for selector in firewall.selectors)


def selected(scope: Scope, selector: str) -> list[int]:
    matches = parse_selector(selector)
    return [server.id for server in scope.project.servers.values() if matches(server.labels)]


def apply(scope: Scope, firewall: Firewall, targets: list[FirewallTarget]) -> None:
    """Put the firewall before every target. Raises `ApiError` and changes nothing where one is refused."""
    for target in targets:
        _check_target(scope, firewall, target)
    for target in targets:
        if target.server is not None:
            firewall.servers.append(target.server.id)
        if target.label_selector is not None:
            firewall.selectors.append(target.label_selector.selector)


def _check_target(scope: Scope, firewall: Firewall, target: FirewallTarget) -> None:
    if target.type == "server":
        _check_server(scope, firewall, target)
    elif target.label_selector is None:
        raise invalid_input("label_selector", "missing required field")
    elif target.label_selector.selector in firewall.selectors:
        raise ApiError("firewall_already_applied", "firewall is already applied")
    else:
        parse_selector(target.label_selector.selector)


def _check_server(scope: Scope, firewall: Firewall, target: FirewallTarget) -> None:
    if target.server is None:
        raise invalid_input("server", "missing required field")
    server = scope.project.servers.get(target.server.id)
    if server is None:
        raise not_found("server", target.server.id)
    if server.id in firewall.servers:
        raise ApiError("firewall_already_applied", "firewall is already applied")
    if len(before(scope, server)) >= PER_SERVER:
        raise limit_exceeded("firewalls per server", "firewalls_per_server_limit")


def remove(firewall: Firewall, targets: list[FirewallTarget]) -> None:
    """Raises `ApiError` firewall_already_removed for a target it does not stand before."""
    for target in targets:
        known_server = target.server is not None and target.server.id in firewall.servers
        selector = target.label_selector.selector if target.label_selector else None
        if not known_server and selector not in firewall.selectors:
            raise ApiError("firewall_already_removed", "firewall is not applied")
    for target in targets:
        if target.server is not None:
            firewall.servers.remove(target.server.id)
        if target.label_selector is not None:
            firewall.selectors.remove(target.label_selector.selector)


def delete(scope: Scope, firewall: Firewall) -> None:
    """Raises `ApiError` resource_in_use while it stands before anything."""
    if firewall.servers or firewall.selectors:
        raise ApiError("resource_in_use", "firewall is still in use", {})
    del scope.project.firewalls[firewall.id]


def forget_server(scope: Scope, server_id: int) -> None:
    for firewall in scope.project.firewalls.values():
        if server_id in firewall.servers:
            firewall.servers.remove(server_id)
