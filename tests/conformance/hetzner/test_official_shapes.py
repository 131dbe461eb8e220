"""Every reply of every route has the shape that the official OpenAPI document gives it, and no other key."""

import copy
from typing import Any

import pytest
from openapi_schema_validator import OAS30Validator
from tour import Exchange, Tour

from sandbox.hetzner import LiveCloud
from sandbox.hetzner.routes import ENDPOINTS, find

# The document is of June 2026. Since then `datacenter` left servers and primary IPs, `deprecated` became
# `deprecation` in images, and networks can list their members. `parent_id` was seen in live replies.
LEFT_SINCE = {"datacenter"}
CHANGED_IN_IMAGES = {"deprecated"}
COME_SINCE = {"parent_id", "deprecation"}
ROUTES_COME_SINCE = {"/networks/{id}/members"}


def closed(schema: Any) -> Any:
    """The schema with today's keys, refusing every key it does not name."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copied = {key: closed(value) for key, value in schema.items()}
    if isinstance(copied.get("properties"), dict):
        _close_object(copied)
    return copied


def _close_object(schema: dict[str, Any]) -> None:
    properties = schema["properties"]
    gone = LEFT_SINCE | (CHANGED_IN_IMAGES if "os_flavor" in properties else set())
    schema["properties"] = {key: value for key, value in properties.items() if key not in gone}
    schema["required"] = [key for key in schema.get("required", []) if key not in gone]
    if not schema["required"]:
        del schema["required"]
    for key in COME_SINCE:
        schema["properties"].setdefault(key, {})
    schema.setdefault("additionalProperties", False)


def schema_of(document: dict[str, Any], template: str, exchange: Exchange) -> dict[str, Any] | None:
    """What the document says about this reply; None for one without a body."""
    responses = document["paths"][template][exchange.method.lower()]["responses"]
    response = responses.get(str(exchange.status)) or responses[f"{exchange.status // 100}xx"]
    content = response.get("content")
    return None if content is None else content["application/json"]["schema"]


@pytest.fixture(scope="module")
def schemas() -> dict[tuple[str, str, int], OAS30Validator | None]:
    return {}


def validator(
    cache: dict[tuple[str, str, int], OAS30Validator | None],
    document: dict[str, Any],
    template: str,
    exchange: Exchange,
) -> OAS30Validator | None:
    key = (exchange.method, template, exchange.status)
    if key not in cache:
        schema = schema_of(document, template, exchange)
        cache[key] = None if schema is None else OAS30Validator(closed(copy.deepcopy(schema)))
    return cache[key]


def problems(
    cache: dict[tuple[str, str, int], OAS30Validator | None], document: dict[str, Any], exchange: Exchange
) -> list[str]:
    found = find(exchange.path)
    assert found is not None
    if found.template in ROUTES_COME_SINCE:
        return []
    judge = validator(cache, document, found.template, exchange)
    if judge is None:
        return [] if exchange.body is None else ["has a body where none belongs"]
    where = f"{exchange.method} {exchange.path} {exchange.status}"
    return [f"{where}: {error.json_path} {error.message[:300]}" for error in judge.iter_errors(exchange.body)]


def test_the_real_client_drives_every_route_and_each_reply_has_its_official_shape(
    world: LiveCloud,
    document: dict[str, Any],
    schemas: dict[tuple[str, str, int], OAS30Validator | None],
    record_property: Any,
) -> None:
    tour = Tour(world)
    tour.walk_everything()
    driven = {(entry.method, entry.route) for entry in world.call(lambda cloud: list(cloud.log.select()))}
    assert {(item.method, item.template) for item in ENDPOINTS} - driven == set()
    wrong = [line for exchange in tour.exchanges for line in problems(schemas, document, exchange)]
    assert wrong == []
    record_property("checks", len(tour.exchanges))


def test_a_reply_with_a_key_too_many_or_too_few_is_noticed(document: dict[str, Any]) -> None:
    location = {
        "id": 1,
        "name": "fsn1",
        "description": "",
        "country": "DE",
        "city": "Falkenstein",
        "latitude": 50.4,
        "longitude": 12.3,
        "network_zone": "eu-central",
    }
    good = Exchange("GET", "/locations/1", 200, {"location": location})
    assert problems({}, document, good) == []
    for body in ({**location, "surprise": 1}, {key: location[key] for key in location if key != "city"}):
        assert problems({}, document, Exchange("GET", "/locations/1", 200, {"location": body}))
