"""A server from order to end: what it says of itself, what locks it, what goes with it, who is told."""

from collections.abc import Callable
from typing import Any

import pytest
from hcloud import APIException, Client
from hcloud.locations import Location
from hcloud.networks import NetworkSubnet
from hcloud.servers import BoundServer, ServerCreatePublicNetwork

from sandbox.hetzner import HetznerCloud, LiveCloud


@pytest.fixture
def told(world: LiveCloud) -> list[tuple[str, str]]:
    """What listeners hear, as pairs of event and server name."""
    heard: list[tuple[str, str]] = []

    def listen(cloud: HetznerCloud) -> None:
        cloud.on_server_running(lambda facts: heard.append(("running", facts.name)))
        cloud.on_server_stopped(lambda facts: heard.append(("stopped", facts.name)))
        cloud.on_server_gone(lambda facts: heard.append(("gone", facts.name)))

    world.call(listen)
    return heard


def status(client: Client, server: BoundServer) -> str:
    return str(client.servers.get_by_id(server.id).status)


def test_a_server_boots_step_by_step(
    world: LiveCloud, client: Client, order: Callable[..., Any], told: list[tuple[str, str]]
) -> None:
    made = order("n")
    seen = [status(client, made.server)]
    for _ in range(30):
        world.advance(0.1)
        now = status(client, made.server)
        seen += [now] if now != seen[-1] else []
    assert seen == ["initializing", "starting", "running"]
    assert told == [("running", "n")]
    created = client.actions.get_by_id(made.action.id)
    assert (created.status, created.progress, created.error) == ("success", 100, None)
    assert [ref["type"] for ref in created.resources] == ["server", "image"]


def test_an_action_makes_progress_and_names_its_parent(
    world: LiveCloud, client: Client, order: Callable[..., Any], ask: Callable[..., Any]
) -> None:
    made = order("n")
    world.advance(0.6)
    assert client.actions.get_by_id(made.action.id).progress == 50
    start = ask("GET", f"/actions/{made.next_actions[0].id}").json()["action"]
    assert (start["status"], start["parent_id"]) == ("running", made.action.id)


def test_a_server_that_is_not_to_start_ends_off(
    world: LiveCloud, client: Client, order: Callable[..., Any], told: list[tuple[str, str]]
) -> None:
    made = order("n", start_after_create=False)
    world.advance(30)
    assert (status(client, made.server), made.next_actions, told) == ("off", [], [])
    made.server.power_on()
    assert status(client, made.server) == "starting"
    world.advance(30)
    assert (status(client, made.server), told) == ("running", [("running", "n")])


def test_a_running_action_locks_the_server(world: LiveCloud, client: Client, order: Callable[..., Any]) -> None:
    server = order("n").server
    for act in (server.delete, server.power_off, server.reboot, server.shutdown):
        with pytest.raises(APIException) as refused:
            act()
        assert (refused.value.code, refused.value.message) == (
            "locked",
            "cannot perform operation because server is locked",
        )
    assert client.servers.get_by_id(server.id).locked is True
    world.advance(30)
    server.power_off()
    with pytest.raises(APIException, match="locked"):
        server.delete()
    world.advance(30)
    assert client.servers.get_by_id(server.id).locked is False
    assert server.delete().command == "delete_server"


def test_power_follows_its_switches(
    world: LiveCloud, client: Client, order: Callable[..., Any], told: list[tuple[str, str]]
) -> None:
    server = order("n").server
    world.advance(30)
    shutdown = server.shutdown()
    world.advance(0.5)
    assert (client.actions.get_by_id(shutdown.id).status, status(client, server)) == ("success", "stopping")
    world.advance(30)
    assert status(client, server) == "off"
    server.power_on()
    world.advance(30)
    server.reset()
    world.advance(30)
    assert status(client, server) == "running"
    assert told == [
        ("running", "n"),
        ("stopped", "n"),
        ("running", "n"),
        ("stopped", "n"),
        ("running", "n"),
    ]


def test_delete_is_accepted_first_and_happens_later(
    world: LiveCloud, client: Client, order: Callable[..., Any], told: list[tuple[str, str]]
) -> None:
    server = order("n").server
    world.advance(30)
    action = server.delete()
    assert action.status == "running"
    assert status(client, server) == "deleting"
    assert [item.name for item in client.servers.get_all()] == ["n"]
    world.advance(30)
    assert client.servers.get_all() == []
    with pytest.raises(APIException) as gone:
        client.servers.get_by_id(server.id)
    assert gone.value.code == "not_found"
    assert client.actions.get_by_id(action.id).status == "success"
    assert told == [("running", "n"), ("gone", "n")]


def test_a_protected_server_stays(world: LiveCloud, client: Client, order: Callable[..., Any]) -> None:
    server = order("n").server
    world.advance(30)
    server.change_protection(delete=True, rebuild=True)
    world.advance(30)
    with pytest.raises(APIException) as refused:
        server.delete()
    assert refused.value.code == "protected"
    assert status(client, server) == "running"


def test_addresses_made_with_a_server_go_with_it_and_own_ones_stay(
    world: LiveCloud, client: Client, order: Callable[..., Any]
) -> None:
    own = client.primary_ips.create("ipv4", name="own", location=Location(name="nbg1"), auto_delete=False)
    server = order("n", public_net=ServerCreatePublicNetwork(ipv4=own.primary_ip)).server
    held = {item.type: item for item in client.primary_ips.get_all()}
    assert {kind: item.assignee_id for kind, item in held.items()} == {"ipv4": server.id, "ipv6": server.id}
    assert (held["ipv4"].auto_delete, held["ipv6"].auto_delete) == (False, True)
    with pytest.raises(APIException) as assigned:
        held["ipv4"].delete()
    assert assigned.value.code == "must_be_unassigned"
    world.advance(30)
    server.delete()
    world.advance(30)
    assert [(item.name, item.assignee_id) for item in client.primary_ips.get_all()] == [("own", None)]


def test_an_own_address_must_fit_and_be_free(client: Client, order: Callable[..., Any]) -> None:
    here = client.primary_ips.create("ipv4", name="here", location=Location(name="nbg1")).primary_ip
    there = client.primary_ips.create("ipv4", name="there", location=Location(name="hel1")).primary_ip
    order("first", public_net=ServerCreatePublicNetwork(ipv4=here))
    codes = []
    for wanted in (
        ServerCreatePublicNetwork(ipv4=here),
        ServerCreatePublicNetwork(ipv4=there),
        ServerCreatePublicNetwork(ipv6=there),
    ):
        with pytest.raises(APIException) as refused:
            order("second", public_net=wanted)
        codes.append(refused.value.code)
    assert codes == ["primary_ip_assigned", "primary_ip_datacenter_mismatch", "primary_ip_version_mismatch"]


def test_networks_give_addresses_by_zone(world: LiveCloud, client: Client, order: Callable[..., Any]) -> None:
    subnets = [
        NetworkSubnet(type="cloud", ip_range="10.0.1.0/29", network_zone="eu-central"),
        NetworkSubnet(type="cloud", ip_range="10.0.2.0/24", network_zone="us-east"),
    ]
    network = client.networks.create("private", "10.0.0.0/16", subnets=subnets)
    server = order("a", networks=[network]).server
    world.advance(30)
    assert client.servers.get_by_id(server.id).private_net[0].ip == "10.0.1.2"
    with pytest.raises(APIException) as again:
        server.attach_to_network(network)
    assert again.value.code == "server_already_attached"
    second = order("b").server
    world.advance(30)
    with pytest.raises(APIException) as taken:
        second.attach_to_network(network, ip="10.0.1.2")
    assert taken.value.code == "ip_not_available"
    with pytest.raises(APIException) as nowhere:
        order("c", networks=[client.networks.create("empty", "10.9.0.0/16")])
    assert nowhere.value.code == "no_subnet_available"
    for number in range(4):
        order(f"full-{number}", networks=[network])
    with pytest.raises(APIException) as full:
        order("one-more", networks=[network])
    assert full.value.code == "ip_not_available"


def test_a_server_without_public_addresses_needs_a_network(
    world: LiveCloud, client: Client, order: Callable[..., Any]
) -> None:
    subnet = NetworkSubnet(type="cloud", ip_range="10.0.1.0/24", network_zone="eu-central")
    network = client.networks.create("private", "10.0.0.0/16", subnets=[subnet])
    neither = ServerCreatePublicNetwork(enable_ipv4=False, enable_ipv6=False)
    server = order("n", networks=[network], public_net=neither).server
    assert (server.public_net.ipv4, server.public_net.ipv6) == (None, None)
    world.advance(30)
    facts = world.call(lambda cloud: cloud.metadata(server.id))
    assert facts is not None
    assert (facts.public_ipv4, facts.private_ips) == (None, ("10.0.1.2",))


def test_a_firewall_in_use_stays(client: Client, order: Callable[..., Any]) -> None:
    wall = client.firewalls.create("wall").firewall
    server = order("n", firewalls=[wall]).server
    assert [item.firewall.id for item in server.public_net.firewalls] == [wall.id]
    with pytest.raises(APIException) as refused:
        client.firewalls.delete(wall)
    assert refused.value.code == "resource_in_use"


def test_a_new_set_of_labels_replaces_the_old_one(client: Client, order: Callable[..., Any]) -> None:
    server = order("n", labels={"a": "1", "b": "2"}).server
    server.update(labels={"c": "3"})
    assert client.servers.get_by_id(server.id).labels == {"c": "3"}
    order("other")
    with pytest.raises(APIException) as taken:
        server.update(name="other")
    assert taken.value.code == "uniqueness_error"
