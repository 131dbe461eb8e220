"""Lists: pages with their exact keys, links, filters and the selector language."""

from collections.abc import Callable
from typing import Any

import pytest
from hcloud import APIException, Client
from hypothesis import given
from hypothesis import strategies as st

from sandbox.hetzner.errors import ApiError
from sandbox.hetzner.labels import check_labels, parse_selector


@pytest.fixture
def sixty(client: Client) -> None:
    for number in range(60):
        client.request("POST", "/networks", json={"name": f"n{number:02}", "ip_range": "10.0.0.0/16"})


def test_pages_have_exactly_the_known_keys(ask: Callable[..., Any], sixty: None) -> None:
    first = ask("GET", "/networks").json()
    assert first["meta"] == {
        "pagination": {
            "page": 1,
            "per_page": 25,
            "previous_page": None,
            "next_page": 2,
            "last_page": 3,
            "total_entries": 60,
        }
    }
    assert len(first["networks"]) == 25
    last = ask("GET", "/networks?page=3").json()
    assert (len(last["networks"]), last["meta"]["pagination"]["next_page"]) == (10, None)
    beyond = ask("GET", "/networks?page=9").json()
    assert (beyond["networks"], beyond["meta"]["pagination"]["next_page"]) == ([], None)


def test_links_lead_on_and_keep_the_question(ask: Callable[..., Any], sixty: None) -> None:
    response = ask("GET", "/networks?sort=name:desc&page=2&per_page=20")
    links = response.links
    assert set(links) == {"prev", "next", "last"}
    assert links["next"]["url"].endswith("/v1/networks?sort=name%3Adesc&page=3&per_page=20")
    assert response.json()["networks"][0]["name"] == "n39"


@pytest.mark.parametrize("query", ["per_page=51", "per_page=0", "page=0", "page=x", "sort=color", "sort=id:up"])
def test_pages_out_of_bounds_are_refused(ask: Callable[..., Any], query: str) -> None:
    response = ask("GET", f"/networks?{query}")
    assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid_input")


def test_the_client_walks_all_pages(client: Client, sixty: None) -> None:
    assert [network.name for network in client.networks.get_all()] == [f"n{number:02}" for number in range(60)]


def test_servers_are_found_by_name_status_and_label(client: Client, order: Callable[..., Any], world: Any) -> None:
    order("a", labels={"pool": "one", "example.com/x": "1"})
    order("b", labels={"pool": "two"}, start_after_create=False)
    order("c")
    world.advance(30)

    def names(**more: Any) -> list[str]:
        return [server.name for server in client.servers.get_all(**more)]

    assert names(name="b") == ["b"]
    assert names(status=["off", "starting"]) == ["b"]
    assert names(status=["off", "running"]) == ["a", "b", "c"]
    assert names(label_selector="pool in (one, two),!example.com/x") == ["b"]
    assert names(label_selector="pool!=one") == ["b", "c"]
    with pytest.raises(APIException) as refused:
        names(label_selector="pool=one two")
    assert refused.value.message == "invalid label_selector: expected comma at pos 9"


LABELS = {"env": "prod", "example.com/tier": "web", "empty": ""}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("", True),
        ("env", True),
        ("!env", False),
        ("env=prod", True),
        ("env==prod", True),
        (" env = prod , empty ", True),
        ("env!=prod", False),
        ("missing!=prod", True),
        ("env in (test,prod)", True),
        ("env in(prod)", True),
        ("env notin (test, prod)", False),
        ("missing notin (a)", True),
        ("missing in (a)", False),
        ("example.com/tier=web,!missing", True),
        ("empty=", True),
        ("empty in ()", True),
        ("env=", False),
        ("in", False),
        ("notin!=x,env", True),
    ],
)
def test_selectors_choose(selector: str, expected: bool) -> None:
    assert parse_selector(selector)(LABELS) is expected


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("a b", "expected comma at pos 2"),
        ("a=b c", "expected comma at pos 4"),
        ("a,", "expected key at pos 2"),
        (",a", "expected key at pos 0"),
        ("!", "expected key at pos 1"),
        ("a in b", "expected opening parenthesis at pos 5"),
        ("a in (b", "expected closing parenthesis at pos 7"),
        ("a=b=c", "expected comma at pos 3"),
        ("a=-b", "expected value at pos 2"),
        ("ä", "expected key at pos 0"),
    ],
)
def test_a_broken_selector_says_where(selector: str, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        parse_selector(selector)
    assert refused.value.message == f"invalid label_selector: {message}"


keys = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
values = st.from_regex(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,8}[A-Za-z0-9])?)?", fullmatch=True)


@given(labels=st.dictionaries(keys, values, min_size=1, max_size=4))
def test_what_every_label_says_selects_its_owner(labels: dict[str, str]) -> None:
    check_labels(labels)
    assert parse_selector(",".join(f"{key}={value}" for key, value in labels.items()))(labels)
    assert parse_selector(",".join(labels))(labels)
    for key, value in labels.items():
        assert not parse_selector(f"{key}!={value}")(labels)
        assert not parse_selector(f"!{key}")(labels)
        assert parse_selector(f"{key} in (other, {value})")(labels)
        assert not parse_selector(f"{key} notin ({value})")(labels)


@given(text=st.text(alphabet="ab=!,() in-/.", max_size=20))
def test_any_text_is_a_selector_or_an_error_with_a_position(text: str) -> None:
    position = 0
    try:
        parse_selector(text)({"a": "b"})
    except ApiError as error:
        position = int(error.message.rpartition(" ")[2])
    assert 0 <= position <= len(text)


def test_types_tell_their_places_and_prices(client: Client) -> None:
    types = {item.name: item for item in client.server_types.get_all()}
    eu, everywhere = {"fsn1", "nbg1", "hel1"}, {"fsn1", "nbg1", "hel1", "ash", "hil", "sin"}
    assert {place.location.name for place in types["cx23"].locations} == eu
    assert {place.location.name for place in types["ccx13"].locations} == everywhere
    old = {place.location.name: place for place in types["cpx11"].locations}
    assert old["nbg1"].deprecation.unavailable_after.year == 2025
    assert (old["nbg1"].available, old["ash"].available, old["ash"].deprecation) == (False, True, None)
    price = types["cx23"].prices[0]
    assert price["price_monthly"] == {"net": "5.4900000000", "gross": "6.5880000000000000"}
    assert [types[name].architecture for name in ("cax11", "cx23")] == ["arm", "x86"]
