"""How resources that a user makes look in replies."""

from datetime import datetime
from typing import Any

from sandbox.hetzner import firewalls, networks, placement
from sandbox.hetzner.catalogue import LOCATION, SERVER_TYPE
from sandbox.hetzner.catalogue_views import image_view, included_traffic, location_view, server_type_view
from sandbox.hetzner.images import IMAGES
from sandbox.hetzner.records import (
    Action,
    Firewall,
    Network,
    PlacementGroup,
    PrimaryIp,
    PrivateNic,
    Resource,
    Server,
    SshKey,
)
from sandbox.hetzner.world import Scope

View = dict[str, Any]
_IMAGE_BY_ID = {image.id: image for image in IMAGES}


def moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _resource(item: Resource) -> View:
    return {"id": item.id, "name": item.name, "labels": item.labels, "created": moment(item.created)}


def action_view(scope: Scope, action: Action) -> View:
    """Progress is the share of the planned time that has passed; the real one jumps about likewise."""
    failure = action.failure if action.status == "error" else None
    return {
        "id": action.id,
        "command": action.command,
        "status": action.status,
        "progress": _progress(scope, action),
        "started": moment(action.started),
        "finished": None if action.finished is None else moment(action.finished),
        "resources": [ref.model_dump() for ref in action.resources],
        "error": None if failure is None else failure.model_dump(),
        "parent_id": action.parent_id,
    }


def _progress(scope: Scope, action: Action) -> int:
    if action.status != "running" or action.due is None:
        return 0 if action.status == "running" else 100
    whole = (action.due - action.started).total_seconds()
    passed = (scope.now - action.started).total_seconds()
    return min(99, int(100 * passed / whole)) if whole > 0 else 0


def server_view(scope: Scope, server: Server) -> View:
    server_type, location = SERVER_TYPE[server.server_type], LOCATION[server.location]
    group = scope.project.placement_groups.get(server.placement_group or 0)
    booting = server.status == "initializing"
    return {
        **_resource(server),
        "status": server.status,
        "public_net": _public_net(scope, server),
        "private_net": [_nic_view(nic) for nic in server.private_nics if nic.state != "attaching"],
        "server_type": server_type_view(scope.world.stock, server_type, scope.now),
        "location": location_view(location),
        "image": image_view(_IMAGE_BY_ID[server.image]),
        "iso": None,
        "rescue_enabled": False,
        "locked": bool(server.running_actions) and not server.stuck,
        "backup_window": None,
        "outgoing_traffic": 0,
        "ingoing_traffic": 0,
        "included_traffic": 0 if booting else included_traffic(location),
        "protection": {"delete": server.delete_protection, "rebuild": server.rebuild_protection},
        "volumes": [],
        "load_balancers": [],
        "primary_disk_size": server_type.disk,
        "placement_group": None if group is None else placement_group_view(scope, group),
    }


def _public_net(scope: Scope, server: Server) -> View:
    ipv4 = scope.project.primary_ips.get(server.ipv4 or 0)
    ipv6 = scope.project.primary_ips.get(server.ipv6 or 0)
    return {
        "ipv4": None if ipv4 is None else {**_address(ipv4), "dns_ptr": ipv4.dns_ptr.get(ipv4.ip, "")},
        "ipv6": None if ipv6 is None else {**_address(ipv6), "dns_ptr": _dns_ptr(ipv6)},
        "floating_ips": [],
        "firewalls": [{"id": item, "status": "applied"} for item in firewalls.before(scope, server)],
    }


def _address(primary_ip: PrimaryIp) -> View:
    return {"id": primary_ip.id, "ip": primary_ip.ip, "blocked": False}


def _dns_ptr(primary_ip: PrimaryIp) -> list[View]:
    return [{"ip": ip, "dns_ptr": name} for ip, name in primary_ip.dns_ptr.items()]


def _nic_view(nic: PrivateNic) -> View:
    return {
        "network": nic.network,
        "ip": nic.ip,
        "alias_ips": nic.alias_ips,
        "mac_address": nic.mac_address,
    }


def placement_group_view(scope: Scope, group: PlacementGroup) -> View:
    return {**_resource(group), "type": "spread", "servers": placement.members(scope, group.id)}


def primary_ip_view(scope: Scope, primary_ip: PrimaryIp) -> View:
    return {
        **_resource(primary_ip),
        "ip": primary_ip.ip,
        "type": primary_ip.type,
        "location": location_view(LOCATION[primary_ip.location]),
        "blocked": False,
        "dns_ptr": _dns_ptr(primary_ip),
        "protection": {"delete": primary_ip.delete_protection},
        "auto_delete": primary_ip.auto_delete,
        "assignee_type": "server",
        "assignee_id": primary_ip.assignee_id,
    }


def ssh_key_view(scope: Scope, key: SshKey) -> View:
    return {**_resource(key), "fingerprint": key.fingerprint, "public_key": key.public_key}


def network_view(scope: Scope, network: Network) -> View:
    return {
        **_resource(network),
        "ip_range": network.ip_range,
        "subnets": [subnet.model_dump() for subnet in network.subnets],
        "routes": [route.model_dump() for route in network.routes],
        "servers": [server.id for server, _ in networks.members(scope, network.id)],
        "load_balancers": [],
        "protection": {"delete": network.delete_protection},
        "expose_routes_to_vswitch": network.expose_routes_to_vswitch,
    }


def member_view(scope: Scope, member: tuple[Server, PrivateNic]) -> View:
    server, nic = member
    return {
        "id": server.id,
        "type": "server",
        "ip": nic.ip,
        "alias_ips": nic.alias_ips,
        "subnet": nic.subnet,
        "status": nic.state,
    }


def firewall_view(scope: Scope, firewall: Firewall) -> View:
    by_id: list[View] = [{"type": "server", "server": {"id": item}} for item in firewall.servers]
    by_selector: list[View] = [
        {
            "type": "label_selector",
            "label_selector": {"selector": selector},
            "applied_to_resources": [
                {"type": "server", "server": {"id": item}} for item in firewalls.selected(scope, selector)
            ],
        }
        for selector in firewall.selectors
    ]
    return {
        **_resource(firewall),
        "rules": [rule.model_dump() for rule in firewall.rules],
        "applied_to": by_id + by_selector,
    }
