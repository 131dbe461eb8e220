"""Ordering a server: each refusal, their order, and what an accepted order brings with it."""

from collections.abc import Callable
from typing import Any

import pytest
from hcloud import APIException, Client
from hcloud.images import Image
from hcloud.locations import Location
from hcloud.networks import NetworkSubnet
from hcloud.server_types import ServerType
from hcloud.servers import ServerCreatePublicNetwork

from sandbox.hetzner import LiveCloud

GOOD = {"name": "n", "server_type": "cx23", "image": "ubuntu-24.04", "location": "nbg1"}


def refusal(call: Callable[..., Any], *args: Any, **more: Any) -> APIException:
    with pytest.raises(APIException) as refused:
        call(*args, **more)
    return refused.value


def test_all_missing_fields_are_named_at_once(ask: Callable[..., Any]) -> None:
    error = ask("POST", "/servers", json={}).json()["error"]
    assert error["code"] == "invalid_input"
    assert error["message"] == "invalid input in fields 'name', 'server_type', 'image'"
    assert [field["name"] for field in error["details"]["fields"]] == ["name", "server_type", "image"]


@pytest.mark.parametrize(
    ("change", "expected", "field"),
    [
        ({"name": "under_score"}, (422, "invalid_input"), "name"),
        ({"name": "-lead"}, (422, "invalid_input"), "name"),
        ({"name": "a" * 64}, (422, "invalid_input"), "name"),
        ({"name": "newline\n"}, (422, "invalid_input"), "name"),
        ({"labels": {"a b": "c"}}, (422, "invalid_input"), "labels"),
        ({"labels": {"hetzner.cloud/x": "c"}}, (422, "invalid_input"), "labels"),
        ({"labels": {"a": "x" * 64}}, (422, "invalid_input"), "labels"),
        ({"labels": {"a": "newline\n"}}, (422, "invalid_input"), "labels"),
        ({"labels": {"a": 1}}, (422, "invalid_input"), "labels"),
        ({"user_data": "x" * 32769}, (422, "invalid_input"), "user_data"),
        ({"user_data": "ü" * 16385}, (422, "invalid_input"), "user_data"),
        ({"server_type": "cx22"}, (422, "invalid_input"), "server_type"),
        ({"location": "mars"}, (422, "invalid_input"), "location"),
        ({"image": "ubuntu-04.04"}, (404, "not_found"), None),
        ({"ssh_keys": ["nobody"]}, (404, "not_found"), None),
        ({"networks": [5]}, (404, "not_found"), None),
        ({"firewalls": [{"firewall": 5}]}, (404, "not_found"), None),
        ({"placement_group": 5}, (404, "not_found"), None),
        ({"volumes": [5]}, (404, "not_found"), None),
        ({"public_net": {"enable_ipv4": False, "enable_ipv6": False}}, (422, "invalid_input"), "public_net"),
        ({"public_net": {"ipv4": 5}}, (404, "not_found"), None),
        ({"start_after_create": "yes"}, (422, "invalid_input"), "start_after_create"),
    ],
)
def test_a_wrong_order_is_refused_and_leaves_nothing(
    ask: Callable[..., Any],
    client: Client,
    change: dict[str, Any],
    expected: tuple[int, str],
    field: str | None,
) -> None:
    response = ask("POST", "/servers", json={**GOOD, **change})
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == expected
    if field is not None:
        assert [item["name"] for item in error["details"]["fields"]] == [field]
    assert client.servers.get_all() == []
    assert client.primary_ips.get_all() == []


def test_the_longest_user_data_is_taken_and_never_shown(
    world: LiveCloud, ask: Callable[..., Any], order: Callable[..., Any]
) -> None:
    text = "#cloud-config\n" + "x" * (32768 - 14)
    server = order("n", user_data=text).server
    assert "user_data" not in ask("GET", f"/servers/{server.id}").text
    facts = world.call(lambda cloud: cloud.metadata(server.id))
    assert facts is not None
    assert (facts.user_data, facts.provider_id) == (text, f"hcloud://{server.id}")


def test_types_are_sold_where_they_are_sold(order: Callable[..., Any]) -> None:
    unsold = refusal(order, "n", location=Location(name="ash"))
    assert (unsold.code, unsold.message) == ("invalid_input", "unsupported location for server type")
    retired = refusal(order, "n", server_type=ServerType(name="cpx11"))
    assert retired.message == "unsupported location for server type"
    assert order("n", server_type=ServerType(name="cpx11"), location=Location(name="ash")).server.id


def test_an_image_name_follows_the_architecture_and_an_id_must_fit(client: Client, order: Callable[..., Any]) -> None:
    arm = order("arm", server_type=ServerType(name="cax11")).server
    assert arm.image.architecture == "arm"
    x86 = client.images.get_by_name_and_architecture("ubuntu-24.04", "x86")
    wrong = refusal(order, "n", server_type=ServerType(name="cax11"), image=Image(id=x86.id))
    assert (wrong.code, wrong.message) == ("invalid_input", "image has incompatible architecture")


def test_stock_runs_out_per_type_and_location(
    client: Client, order: Callable[..., Any], lever: Callable[..., Any]
) -> None:
    lever("PUT", "/stock/nbg1/cx23", {"remaining": 1})
    order("last")
    empty = refusal(order, "late")
    assert (empty.code, empty.message, empty.details) == (
        "resource_unavailable",
        "error during placement",
        None,
    )
    places = {item.location.name: item.available for item in client.server_types.get_by_name("cx23").locations}
    assert places == {"fsn1": True, "nbg1": False, "hel1": True}
    assert order("elsewhere", location=Location(name="hel1")).server.location.name == "hel1"
    assert order("bigger", server_type=ServerType(name="cx33")).server.server_type.name == "cx33"


def test_the_available_flag_may_lie_both_ways(
    client: Client, order: Callable[..., Any], lever: Callable[..., Any]
) -> None:
    lever("PUT", "/stock/nbg1/cx23", {"remaining": 0, "advertised": True})
    lever("PUT", "/stock/hel1/cx23", {"remaining": None, "advertised": False})
    places = {item.location.name: item.available for item in client.server_types.get_by_name("cx23").locations}
    assert (places["nbg1"], places["hel1"]) == (True, False)
    assert refusal(order, "lured").code == "resource_unavailable"
    assert order("lucky", location=Location(name="hel1")).server.id


def test_a_location_can_be_switched_off(order: Callable[..., Any], lever: Callable[..., Any]) -> None:
    lever("PUT", "/locations/nbg1", {"enabled": False})
    disabled = refusal(order, "n")
    assert (disabled.code, disabled.message, disabled.details) == (
        "resource_unavailable",
        "server location disabled",
        {},
    )
    lever("PUT", "/locations/nbg1", {"enabled": True})
    assert order("n").server.id


def test_a_deprecated_type_can_be_had_until_its_last_day(
    world: LiveCloud, client: Client, order: Callable[..., Any], lever: Callable[..., Any]
) -> None:
    days = {"announced": "2026-11-01T00:00:00Z", "unavailable_after": "2026-12-01T09:00:00Z"}
    lever("PUT", "/stock/nbg1/cx23/deprecation", days)
    place = client.server_types.get_by_name("cx23").locations[1]
    assert (place.location.name, place.available) == ("nbg1", True)
    assert place.deprecation.unavailable_after.hour == 9
    order("in-time")
    world.advance(3601)
    assert refusal(order, "too-late").message == "unsupported location for server type"
    assert client.server_types.get_by_name("cx23").locations[1].available is False


def test_quotas_count_servers_and_ipv4_addresses(order: Callable[..., Any], lever: Callable[..., Any]) -> None:
    lever("PUT", "/projects/demo/limits", {"servers": 3, "primary_ips": 1})
    order("first")
    addresses = refusal(order, "second")
    assert (addresses.code, addresses.message) == ("resource_limit_exceeded", "Primary IP limit exceeded")
    assert addresses.details == {"limits": [{"name": "primary_ip_limit"}]}
    without = ServerCreatePublicNetwork(enable_ipv4=False)
    order("second", public_net=without)
    order("third", public_net=without)
    assert refusal(order, "fourth", public_net=without).message == "server limit exceeded"


def test_a_placement_group_takes_ten_and_a_leaving_server_counts(
    world: LiveCloud, client: Client, order: Callable[..., Any]
) -> None:
    group = client.placement_groups.create("spread", "spread").placement_group
    members = [order(f"n{number}", placement_group=group).server for number in range(10)]
    world.advance(30)
    message = f"placement group with ID {group.id} contains already 10 servers"
    full = refusal(order, "n10", placement_group=group)
    assert (full.code, full.message) == ("placement_group_member_limit_reached", message)
    members[0].delete()
    assert refusal(order, "n10", placement_group=group).message == message
    world.advance(30)
    assert order("n10", placement_group=group).server.placement_group.id == group.id


def test_a_name_is_taken_until_its_server_is_gone(world: LiveCloud, order: Callable[..., Any]) -> None:
    first = order("n").server
    taken = refusal(order, "n")
    assert (taken.code, taken.message, taken.details) == (
        "uniqueness_error",
        "server name is already used",
        {},
    )
    world.advance(30)
    first.delete()
    assert refusal(order, "n").code == "uniqueness_error"
    world.advance(30)
    assert order("n").server.id > first.id


def test_the_refusals_come_in_the_order_of_the_real_api(
    world: LiveCloud, client: Client, ask: Callable[..., Any], lever: Callable[..., Any]
) -> None:
    """An order that is wrong in every way, mended one mistake at a time."""
    arm = client.images.get_by_name_and_architecture("ubuntu-24.04", "arm")
    ask("POST", "/servers", json={**GOOD, "name": "taken"})
    lever("PUT", "/projects/demo/limits", {"servers": 1, "primary_ips": 1})
    lever("PUT", "/locations/nbg1", {"enabled": False})
    body: dict[str, Any] = {
        "name": "not_valid",
        "labels": {"a b": "c"},
        "user_data": "x" * 40000,
        "server_type": "nothing",
        "location": "ash",
        "image": arm.id,
    }
    steps: list[tuple[str, Callable[[], Any]]] = [
        ("invalid input in field 'name'", lambda: body.update(name="taken")),
        ("invalid input in field 'labels'", lambda: body.update(labels={})),
        ("invalid input in field 'user_data'", lambda: body.update(user_data="")),
        ("invalid input in field 'server_type'", lambda: body.update(server_type="cx23")),
        ("unsupported location for server type", lambda: body.update(location="nbg1")),
        ("image has incompatible architecture", lambda: body.update(image="ubuntu-24.04")),
        ("server location disabled", lambda: lever("PUT", "/locations/nbg1", {"enabled": True})),
        (
            "server limit exceeded",
            lambda: lever("PUT", "/projects/demo/limits", {"servers": 2, "primary_ips": 1}),
        ),
        (
            "Primary IP limit exceeded",
            lambda: lever("PUT", "/projects/demo/limits", {"servers": 2, "primary_ips": 2}),
        ),
        ("server name is already used", lambda: body.update(name="free")),
    ]
    for message, mend in steps:
        assert ask("POST", "/servers", json=body).json()["error"]["message"] == message
        mend()
    assert ask("POST", "/servers", json=body).status_code == 201


def test_the_reply_to_an_order_is_that_of_the_real_api(client: Client, order: Callable[..., Any]) -> None:
    subnet = NetworkSubnet(type="cloud", ip_range="10.0.1.0/24", network_zone="eu-central")
    network = client.networks.create("private", "10.0.0.0/16", subnets=[subnet])
    made = order("n", networks=[network])
    assert (made.server.status, made.server.locked) == ("initializing", False)
    assert made.server.public_net.ipv4.ip == "203.0.113.1"
    assert made.server.public_net.ipv4.dns_ptr == "static.1.113.0.203.clients.your-server.de"
    assert made.server.public_net.ipv6.ip.endswith("/64")
    assert made.server.private_net == []
    assert (made.action.command, made.action.status, made.action.progress) == ("create_server", "running", 0)
    assert made.action.id > 2**48
    assert [action.command for action in made.next_actions] == ["start_server", "attach_to_network"]
    assert len(made.root_password) >= 16


def test_with_a_key_there_is_no_root_password(client: Client, order: Callable[..., Any]) -> None:
    text = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBaaVWtFWxC8wDwpaECCrjlTwbmKk5HhzL3VMyyLb5Bq a"
    key = client.ssh_keys.create("key", text)
    assert order("n", ssh_keys=[key]).root_password is None
    again = refusal(client.ssh_keys.create, "other", text)
    assert again.message == "SSH key with the same fingerprint already exists"
    assert again.details == {"fields": [{"name": "public_key"}]}


def test_an_unsaid_location_is_one_with_stock(order: Callable[..., Any], lever: Callable[..., Any]) -> None:
    lever("PUT", "/stock/fsn1/cx23", {"remaining": 0})
    assert order("n", location=None).server.location.name == "nbg1"
