"""Routes of what can be ordered: server types, locations, images, prices. Data centers are history."""

from collections.abc import Iterable
from typing import TypeVar, get_args

from sandbox.hetzner.catalogue import LOCATIONS, SERVER_TYPES, Architecture, Location, ServerType
from sandbox.hetzner.catalogue_views import image_view, location_view, pricing_view, server_type_view
from sandbox.hetzner.endpoint import Call, Endpoint, Reply, ok
from sandbox.hetzner.errors import ApiError, not_found
from sandbox.hetzner.images import IMAGES, Image
from sandbox.hetzner.labels import parse_selector
from sandbox.hetzner.paging import chosen, ordered, page

_Item = TypeVar("_Item", Location, ServerType, Image)


def _named(call: Call, items: Iterable[_Item]) -> list[_Item]:
    name = call.query.first("name")
    return [item for item in items if name is None or item.name == name]


def _by_id(call: Call, kind: str, items: Iterable[_Item]) -> _Item:
    for item in items:
        if item.id == call.id:
            return item
    raise not_found(kind, call.id)


def _server_types(call: Call) -> Reply:
    return page(
        call,
        "server_types",
        _named(call, SERVER_TYPES),
        lambda scope, item: server_type_view(scope.world.stock, item, scope.now),
    )


def _server_type(call: Call) -> Reply:
    found = _by_id(call, "server type", SERVER_TYPES)
    return ok({"server_type": server_type_view(call.scope.world.stock, found, call.scope.now)})


def _locations(call: Call) -> Reply:
    found = ordered(call.query, _named(call, LOCATIONS), ("id", "name"))
    return page(call, "locations", found, lambda _, item: location_view(item))


def _location(call: Call) -> Reply:
    return ok({"location": location_view(_by_id(call, "location", LOCATIONS))})


def _images(call: Call) -> Reply:
    """All images are system ones without labels, available and bound to nothing."""
    query = call.query
    architectures = chosen(query, "architecture", get_args(Architecture))
    types = chosen(query, "type", ("system", "app", "snapshot", "backup"))
    statuses = chosen(query, "status", ("available", "creating", "unavailable"))
    bare = parse_selector(query.first("label_selector") or "")({}) and not query.all("bound_to")
    # The Python client writes a boolean as "True".
    old_ones = (query.first("include_deprecated") or "").lower() == "true"
    found = [
        image
        for image in _named(call, IMAGES)
        if image.architecture in architectures and (old_ones or image.deprecated is None)
    ]
    shown = found if bare and "system" in types and "available" in statuses else []
    return page(
        call,
        "images",
        ordered(query, shown, ("id", "name", "created")),
        lambda _, item: image_view(item),
    )


def _image(call: Call) -> Reply:
    return ok({"image": image_view(_by_id(call, "image", IMAGES))})


def _pricing(call: Call) -> Reply:
    return ok({"pricing": pricing_view()})


def _datacenters(call: Call) -> Reply:
    """Gone since October 2026."""
    announcement = "https://docs.hetzner.cloud/changelog#2025-12-16-phasing-out-datacenters"
    raise ApiError("deprecated_api_endpoint", "this API endpoint was removed", {"announcement": announcement})


ENDPOINTS = (
    Endpoint("GET", "/server_types", _server_types),
    Endpoint("GET", "/server_types/{id}", _server_type),
    Endpoint("GET", "/locations", _locations),
    Endpoint("GET", "/locations/{id}", _location),
    Endpoint("GET", "/images", _images),
    Endpoint("GET", "/images/{id}", _image),
    Endpoint("GET", "/pricing", _pricing),
    Endpoint("GET", "/datacenters", _datacenters),
    Endpoint("GET", "/datacenters/{id}", _datacenters),
)
