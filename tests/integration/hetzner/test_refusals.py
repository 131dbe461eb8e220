"""What networks, firewalls, addresses, groups and keys refuse, each with its own code."""

from collections.abc import Callable
from typing import Any

import pytest
from hcloud import Client

from sandbox.hetzner import LiveCloud

Ids = dict[str, int]
RULE = {"direction": "in", "protocol": "tcp", "port": "22", "source_ips": ["0.0.0.0/0"]}


@pytest.fixture
def ids(world: LiveCloud, client: Client, order: Callable[..., Any]) -> Ids:
    """A running and a stopped server in Nuremberg, and one of every other kind."""
    subnet = {"type": "cloud", "ip_range": "10.0.1.0/24", "network_zone": "eu-central"}
    network = client.request("POST", "/networks", json={"name": "net", "ip_range": "10.0.0.0/16", "subnets": [subnet]})
    client.request("POST", "/networks", json={"name": "taken", "ip_range": "10.0.0.0/16"})
    wall = client.request("POST", "/firewalls", json={"name": "wall", "rules": [RULE]})
    address = {"name": "spare", "type": "ipv4", "location": "nbg1"}
    spare = client.request("POST", "/primary_ips", json=address)
    far = client.request("POST", "/primary_ips", json={**address, "name": "far", "location": "hel1"})
    group = client.placement_groups.create("group", "spread").placement_group
    running = order("running").server
    stopped = order("stopped", start_after_create=False, networks=[client.networks.get_by_name("net")]).server
    world.advance(30)
    stopped.add_to_placement_group(group)
    world.advance(30)
    return {
        "net": network["network"]["id"],
        "wall": wall["firewall"]["id"],
        "spare": spare["primary_ip"]["id"],
        "far": far["primary_ip"]["id"],
        "group": group.id,
        "running": running.id,
        "stopped": stopped.id,
        "held": stopped.public_net.primary_ipv4.id,
    }


def filled(value: Any, ids: Ids) -> Any:
    """`value` with every text that names one of `ids` replaced by the id."""
    if isinstance(value, dict):
        return {key: filled(item, ids) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, ids) for item in value]
    return ids.get(value.removeprefix("@"), value) if isinstance(value, str) and value[:1] == "@" else value


CLOUD = {"type": "cloud", "network_zone": "eu-central"}
SERVER = {"type": "server", "server": {"id": "@running"}}
REFUSALS = [
    ("networks", {"name": "n", "ip_range": "10.0.0.1/8"}, "invalid_input"),
    ("networks", {"name": "n", "ip_range": "8.8.0.0/16"}, "invalid_input"),
    ("networks", {"name": "taken", "ip_range": "10.0.0.0/16"}, "uniqueness_error"),
    ("networks", {"name": "", "ip_range": "10.0.0.0/16"}, "invalid_input"),
    (
        "networks",
        {"name": "n", "ip_range": "10.0.0.0/16", "routes": [{"destination": "x", "gateway": "y"}]},
        "invalid_input",
    ),
    ("networks/{net}/actions/add_subnet", {**CLOUD, "network_zone": "mars"}, "invalid_input"),
    ("networks/{net}/actions/add_subnet", {**CLOUD, "ip_range": "10.1.0.0/24"}, "invalid_input"),
    ("networks/{net}/actions/add_subnet", {**CLOUD, "ip_range": "10.0.1.0/25"}, "invalid_input"),
    ("networks/{net}/actions/delete_subnet", {"ip_range": "10.0.1.0/24"}, "invalid_input"),
    ("networks/{net}/actions/delete_subnet", {"ip_range": "10.0.9.0/24"}, "invalid_input"),
    (
        "networks/{net}/actions/add_route",
        {"destination": "10.9.0.0/24", "gateway": "192.168.0.1"},
        "invalid_input",
    ),
    (
        "networks/{net}/actions/delete_route",
        {"destination": "10.9.0.0/24", "gateway": "10.0.1.1"},
        "invalid_input",
    ),
    ("servers/{running}/actions/attach_to_network", {"network": "@net", "ip": "10.0.1.1"}, "ip_not_available"),
    ("servers/{running}/actions/attach_to_network", {"network": "@net", "ip": "nine"}, "invalid_input"),
    (
        "servers/{running}/actions/attach_to_network",
        {"network": "@net", "ip_range": "10.0.2.0/24"},
        "no_subnet_available",
    ),
    ("servers/{running}/actions/detach_from_network", {"network": "@net"}, "invalid_input"),
    (
        "servers/{running}/actions/add_to_placement_group",
        {"placement_group": "@group"},
        "server_not_stopped",
    ),
    (
        "servers/{stopped}/actions/add_to_placement_group",
        {"placement_group": "@group"},
        "already_in_placement_group",
    ),
    ("servers/{running}/actions/remove_from_placement_group", {}, "invalid_input"),
    ("servers/{running}/actions/change_protection", {"delete": True}, "invalid_input"),
    ("placement_groups", {"name": "g", "type": "pack"}, "invalid_input"),
    ("placement_groups", {"name": "group", "type": "spread"}, "uniqueness_error"),
    ("ssh_keys", {"name": "k", "public_key": "ssh-rsa ???"}, "invalid_input"),
    ("ssh_keys", {"name": "k", "public_key": "AAAA"}, "invalid_input"),
    ("firewalls", {"name": "wall"}, "uniqueness_error"),
    ("firewalls", {"name": "f", "rules": [{**RULE, "port": None}]}, "invalid_input"),
    ("firewalls", {"name": "f", "rules": [{**RULE, "source_ips": []}]}, "invalid_input"),
    ("firewalls", {"name": "f", "rules": [{**RULE, "source_ips": ["here"]}]}, "invalid_input"),
    ("firewalls", {"name": "f", "apply_to": [{"type": "server"}]}, "invalid_input"),
    ("firewalls", {"name": "f", "apply_to": [{"type": "label_selector"}]}, "invalid_input"),
    ("firewalls", {"name": "f", "apply_to": [{"type": "server", "server": {"id": 5}}]}, "not_found"),
    (
        "firewalls/{wall}/actions/remove_from_resources",
        {"remove_from": [SERVER]},
        "firewall_already_removed",
    ),
    ("primary_ips", {"name": "p", "type": "ipv4"}, "invalid_input"),
    ("primary_ips", {"name": "p", "type": "ipv4", "location": "mars"}, "invalid_input"),
    ("primary_ips", {"name": "p", "type": "ipv4", "assignee_id": 5}, "not_found"),
    ("primary_ips", {"name": "p", "type": "ipv4", "assignee_id": "@running"}, "server_not_stopped"),
    ("primary_ips", {"name": "p", "type": "ipv4", "assignee_id": "@stopped"}, "server_has_ipv4"),
    ("primary_ips", {"name": "spare", "type": "ipv4", "location": "nbg1"}, "uniqueness_error"),
    (
        "primary_ips/{held}/actions/assign",
        {"assignee_id": "@running", "assignee_type": "server"},
        "primary_ip_already_assigned",
    ),
    (
        "primary_ips/{spare}/actions/assign",
        {"assignee_id": "@running", "assignee_type": "server"},
        "server_not_stopped",
    ),
    (
        "primary_ips/{far}/actions/assign",
        {"assignee_id": "@stopped", "assignee_type": "server"},
        "primary_ip_datacenter_mismatch",
    ),
    ("primary_ips/{spare}/actions/assign", {"assignee_id": 5, "assignee_type": "server"}, "not_found"),
    ("primary_ips/{spare}/actions/unassign", {}, "invalid_input"),
]


def test_each_mistake_has_its_code_and_changes_nothing(world: LiveCloud, ids: Ids, ask: Callable[..., Any]) -> None:
    def snapshot() -> Any:
        return world.call(lambda cloud: cloud.project("demo").model_dump(exclude={"bucket"}))

    before, answers = snapshot(), []
    for path, body, _ in REFUSALS:
        response = ask("POST", f"/{path.format(**ids)}", json=filled(body, ids))
        answers.append((path, body, response.json().get("error", {}).get("code")))
    assert answers == REFUSALS
    assert snapshot() == before


@pytest.mark.parametrize(
    "path",
    [
        "/servers/1",
        "/networks/1",
        "/firewalls/1",
        "/primary_ips/1",
        "/ssh_keys/1",
        "/placement_groups/1",
        "/images/1",
        "/locations/99",
        "/server_types/1",
        "/actions/1",
        "/servers/1/actions",
        "/servers/actions/1",
        "/servers/1/actions/1",
    ],
)
def test_what_does_not_exist_is_not_found(ask: Callable[..., Any], path: str) -> None:
    response = ask("GET", path)
    assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")


def test_an_action_is_found_beside_its_own_resource_only(ids: Ids, ask: Callable[..., Any]) -> None:
    action = ask("GET", f"/servers/{ids['stopped']}/actions").json()["actions"][0]["id"]
    assert ask("GET", f"/servers/{ids['stopped']}/actions/{action}").status_code == 200
    assert ask("GET", f"/servers/{ids['running']}/actions/{action}").status_code == 404
    assert ask("GET", f"/firewalls/actions/{action}").status_code == 404
    assert ask("GET", "/actions").status_code == 422
    assert ask("GET", "/actions?id=x").status_code == 422
    several = ask("GET", f"/actions?id={action}&id={action}&id=1").json()["actions"]
    assert [item["id"] for item in several] == [action]


def test_protection_holds_until_it_is_lifted(ids: Ids, ask: Callable[..., Any], world: LiveCloud) -> None:
    for path in (f"/networks/{ids['net']}", f"/primary_ips/{ids['spare']}"):
        ask("POST", f"{path}/actions/change_protection", json={"delete": True})
        assert ask("DELETE", path).json()["error"]["code"] == "protected"
        ask("POST", f"{path}/actions/change_protection", json={"delete": False})
        assert ask("DELETE", path).status_code == 204


def test_a_failed_stop_leaves_it_running_and_a_failed_delete_leaves_it_off(
    ids: Ids, client: Client, world: LiveCloud, lever: Callable[..., Any]
) -> None:
    server = client.servers.get_by_id(ids["running"])
    for command, act, expected in (
        ("stop_server", server.power_off, "running"),
        ("delete_server", server.delete, "off"),
    ):
        lever("POST", "/faults", {"kind": "action_error", "command": command, "count": 1})
        act()
        world.advance(30)
        assert client.servers.get_by_id(server.id).status == expected
