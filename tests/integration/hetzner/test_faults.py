"""Each kind of trouble, provoked through the sandbox's lever and met by the real client."""

import time
from collections.abc import Callable
from typing import Any

import pytest
import requests
from hcloud import APIException, Client
from hcloud.actions import ActionFailedException
from hcloud.networks import NetworkSubnet

from sandbox.hetzner import LiveCloud

Lever = Callable[..., Any]
Order = Callable[..., Any]


def create_fault(lever: Lever, **fault: Any) -> int:
    return int(lever("POST", "/faults", {"count": 1, **fault})["fault"]["id"])


@pytest.mark.parametrize(
    "expected",
    [
        ("resource_unavailable", 412),
        ("resource_limit_exceeded", 403),
        ("uniqueness_error", 409),
        ("placement_error", 422),
        ("locked", 423),
        ("rate_limit_exceeded", 429),
        ("server_error", 500),
        ("bad_gateway", 502),
        ("unavailable", 503),
        ("timeout", 504),
    ],
)
def test_any_error_can_be_had_and_nothing_was_done(
    order: Order, client: Client, ask: Callable[..., Any], lever: Lever, expected: tuple[str, int]
) -> None:
    code, status = expected
    create_fault(lever, kind="error", method="POST", path="/servers", code=code, message="no", count=2)
    with pytest.raises(APIException) as refused:
        order("n")
    assert (refused.value.code, refused.value.message) == (code, "no")
    assert ask("POST", "/servers", json={}).status_code == status
    assert client.servers.get_all() == []
    assert order("n").server.id


def test_an_error_after_the_commit_hides_a_server(order: Order, client: Client, lever: Lever) -> None:
    create_fault(lever, kind="error", method="POST", path="/servers", code="server_error", after_commit=True)
    with pytest.raises(APIException):
        order("n")
    assert [server.name for server in client.servers.get_all()] == ["n"]


@pytest.mark.parametrize("after_commit", [False, True])
def test_a_proxy_page_is_no_json(order: Order, client: Client, lever: Lever, after_commit: bool) -> None:
    create_fault(lever, kind="html", method="POST", path="/servers", after_commit=after_commit)
    with pytest.raises(APIException) as refused:
        order("n")
    assert refused.value.code == 502
    assert refused.value.details["content"].startswith(b"<html>")
    assert len(client.servers.get_all()) == int(after_commit)


@pytest.mark.parametrize("after_commit", [False, True])
def test_a_reset_cuts_the_connection(
    world: LiveCloud, order: Order, client: Client, lever: Lever, after_commit: bool
) -> None:
    create_fault(lever, kind="reset", method="POST", path="/servers", after_commit=after_commit)
    with pytest.raises(requests.exceptions.ConnectionError, match="reset by peer"):
        order("n")
    assert len(client.servers.get_all()) == int(after_commit)
    assert world.cloud.log.count("POST", "/servers", status=0) == 1


def test_a_lost_answer_makes_the_client_collide_with_itself(
    connect: Callable[..., Any], lever: Lever, world: LiveCloud
) -> None:
    """The client re-sends what timed out; its second order meets the first one's server."""
    create_fault(lever, kind="slow", method="POST", path="/servers", seconds=0.5)
    impatient = connect(timeout=0.2, retries=1)
    body = {"name": "n", "server_type": "cx23", "image": "ubuntu-24.04"}
    with pytest.raises(APIException) as refused:
        impatient.request("POST", "/servers", json=body)
    assert refused.value.code == "uniqueness_error"
    assert world.cloud.log.count("POST", "/servers") == 2


def test_a_slow_answer_comes_in_the_end(client: Client, lever: Lever) -> None:
    create_fault(lever, kind="slow", path="/locations", seconds=0.2)
    began = time.monotonic()
    assert len(client.locations.get_all()) == 6
    assert time.monotonic() - began >= 0.2


def test_a_fault_hits_its_route_only_and_as_often_as_said(client: Client, lever: Lever, order: Order) -> None:
    server = order("n").server
    number = create_fault(lever, kind="error", method="GET", path="/servers/{id}", code="server_error", skip=1, count=2)
    outcomes = []
    for _ in range(5):
        client.servers.get_all()
        try:
            client.servers.get_by_id(server.id)
            outcomes.append("ok")
        except APIException as error:
            outcomes.append(str(error.code))
    assert outcomes == ["ok", "server_error", "server_error", "ok", "ok"]
    assert lever("GET", "/faults")["faults"][0]["fired"] == 2
    lever("DELETE", f"/faults/{number}")
    assert lever("GET", "/faults")["faults"] == []


def test_a_seeded_fault_repeats_itself(lever: Lever, ask: Callable[..., Any]) -> None:
    def run() -> list[int]:
        lever("DELETE", "/faults")
        fault = {"kind": "error", "code": "unavailable", "rate": 0.5, "seed": 7, "count": None}
        lever("POST", "/faults", fault)
        return [ask("GET", "/locations").status_code for _ in range(20)]

    first = run()
    assert first == run()
    assert {200, 503} == set(first)


def test_an_action_fails_though_the_server_exists(world: LiveCloud, client: Client, order: Order, lever: Lever) -> None:
    create_fault(lever, kind="action_error", command="create_server")
    made = order("n")
    world.advance(30)
    with pytest.raises(ActionFailedException, match="unknown_error"):
        made.action.wait_until_finished()
    with pytest.raises(ActionFailedException):
        made.next_actions[0].wait_until_finished()
    assert client.servers.get_by_id(made.server.id).status == "off"


def test_a_server_that_fails_to_start_stays_off(world: LiveCloud, client: Client, order: Order, lever: Lever) -> None:
    create_fault(lever, kind="action_error", command="start_server", name="bad-*")
    good, bad = order("good-1"), order("bad-1")
    world.advance(30)
    with pytest.raises(ActionFailedException, match="unknown_error"):
        bad.next_actions[0].wait_until_finished()
    assert client.servers.get_by_id(bad.server.id).status == "off"
    assert client.servers.get_by_id(good.server.id).status == "running"


def test_a_stuck_server_initializes_for_ever_and_can_be_deleted(
    world: LiveCloud, client: Client, order: Order, lever: Lever
) -> None:
    create_fault(lever, kind="stuck_initializing")
    made = order("n")
    world.advance(7200)
    assert client.servers.get_by_id(made.server.id).status == "initializing"
    assert client.actions.get_by_id(made.action.id).status == "running"
    made.server.delete()
    world.advance(30)
    assert client.servers.get_all() == []
    assert client.actions.get_by_id(made.action.id).status == "error"


def test_a_network_card_comes_late(world: LiveCloud, client: Client, order: Order, lever: Lever) -> None:
    subnet = NetworkSubnet(type="cloud", ip_range="10.0.1.0/24", network_zone="eu-central")
    network = client.networks.create("private", "10.0.0.0/16", subnets=[subnet])
    create_fault(lever, kind="late_nic", seconds=60)
    server = order("n", networks=[network]).server
    world.advance(30)
    now = client.servers.get_by_id(server.id)
    assert (now.status, now.private_net) == ("running", [])
    assert [member.status for member in network.get_member_all()] == ["attaching"]
    world.advance(60)
    assert client.servers.get_by_id(server.id).private_net[0].ip == "10.0.1.2"


def test_a_server_vanishes_after_it_ran(world: LiveCloud, client: Client, order: Order, lever: Lever) -> None:
    create_fault(lever, kind="vanish", seconds=100)
    server = order("n").server
    world.advance(90)
    assert client.servers.get_by_id(server.id).status == "running"
    world.advance(20)
    assert client.servers.get_all() == []
    assert client.primary_ips.get_all() == []


def test_a_server_vanishes_at_once(world: LiveCloud, client: Client, order: Order, lever: Lever) -> None:
    server = order("n").server
    world.advance(30)
    gone: list[int] = []
    world.call(lambda cloud: cloud.on_server_gone(lambda facts: gone.append(facts.id)))
    lever("DELETE", f"/servers/{server.id}")
    assert client.servers.get_all() == []
    assert gone == [server.id]


def test_a_list_lags_behind_an_order(world: LiveCloud, client: Client, order: Order, lever: Lever) -> None:
    create_fault(lever, kind="stale_list", seconds=10)
    server = order("n").server
    assert client.servers.get_all() == []
    assert client.servers.get_by_name("n") is None
    assert client.servers.get_by_id(server.id).name == "n"
    with pytest.raises(APIException, match="already used"):
        order("n")
    world.advance(10)
    assert client.servers.get_by_name("n").id == server.id


def test_racing_creates_leave_two_groups_of_one_name(client: Client, lever: Lever) -> None:
    client.placement_groups.create("spread", "spread")
    with pytest.raises(APIException, match="already used"):
        client.placement_groups.create("spread", "spread")
    create_fault(lever, kind="duplicate_name", name="spread")
    client.placement_groups.create("spread", "spread")
    assert [group.name for group in client.placement_groups.get_all()] == ["spread", "spread"]


def test_a_lever_refuses_nonsense(world: LiveCloud) -> None:
    base = f"{world.url}/_sandbox/hetzner"
    assert requests.post(f"{base}/faults", json={"kind": "earthquake"}, timeout=5).status_code == 422
    assert requests.delete(f"{base}/servers/1", timeout=5).status_code == 404
    limits = requests.put(f"{base}/projects/nobody/limits", json={"servers": 1}, timeout=5)
    assert limits.status_code == 404
