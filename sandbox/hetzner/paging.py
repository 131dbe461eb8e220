"""Lists: filtered, sorted, and cut into pages with the `meta` and `Link` that go with them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

from sandbox.hetzner.endpoint import Call, Query, Reply
from sandbox.hetzner.errors import invalid_input
from sandbox.hetzner.labels import parse_selector
from sandbox.hetzner.records import Resource
from sandbox.hetzner.world import Scope

DEFAULT_PER_PAGE = 25
MAX_PER_PAGE = 50

_Item = TypeVar("_Item")
_Resource = TypeVar("_Resource", bound=Resource)


def page(call: Call, key: str, items: Sequence[_Item], view: Callable[[Scope, _Item], dict[str, Any]]) -> Reply:
    """One page of `items` under `key`. Raises `ApiError` invalid_input for a page or size out of bounds.

    The documentation does not say what a larger size than 50 does; it is refused here.
    """
    number = _number(call.query, "page", 1, None)
    size = _number(call.query, "per_page", DEFAULT_PER_PAGE, MAX_PER_PAGE)
    last = max(1, -(-len(items) // size))
    shown = items[(number - 1) * size : number * size]
    pagination = {
        "page": number,
        "per_page": size,
        "previous_page": number - 1 if number > 1 else None,
        "next_page": number + 1 if number < last else None,
        "last_page": last,
        "total_entries": len(items),
    }
    body = {key: [view(call.scope, item) for item in shown], "meta": {"pagination": pagination}}
    return Reply(200, body, _link(call, pagination))


def _number(query: Query, key: str, default: int, maximum: int | None) -> int:
    text = query.first(key)
    if text is None:
        return default
    # Nine digits are far beyond any page, and keep a hostile number short.
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) >= 1):
        raise invalid_input(key, "must be a number of at least 1")
    if maximum is not None and int(text) > maximum:
        raise invalid_input(key, f"must be at most {maximum}")
    return int(text)


def _link(call: Call, pagination: dict[str, int | None]) -> dict[str, str]:
    others = [(name, value) for name, value in call.query.pairs if name not in {"page", "per_page"}]
    links = []
    for relation, key in (("prev", "previous_page"), ("next", "next_page"), ("last", "last_page")):
        number = pagination[key]
        if number is not None:
            query = urlencode([*others, ("page", number), ("per_page", pagination["per_page"])])
            links.append(f'<{call.url}?{query}>; rel="{relation}"')
    return {"Link": ", ".join(links)}


def narrow(query: Query, resources: Iterable[_Resource]) -> list[_Resource]:
    """What `name`, `label_selector` and `sort` leave of the resources, in their order."""
    name, selector = query.first("name"), query.first("label_selector")
    kept = list(resources)
    if name is not None:
        kept = [item for item in kept if item.name == name]
    if selector:
        matches = parse_selector(selector)
        kept = [item for item in kept if matches(item.labels)]
    return ordered(query, kept, ("id", "name", "created"))


def ordered(query: Query, items: list[_Item], fields: tuple[str, ...]) -> list[_Item]:
    """Sort by the `sort` parameters, the first one counting most. Raises `ApiError` invalid_input."""
    for text in reversed(query.all("sort")):
        name, _, direction = text.partition(":")
        if name not in fields or direction not in {"", "asc", "desc"}:
            raise invalid_input("sort", f"'{text}' is not a way to sort this list")
        items = sorted(items, key=lambda item: _sort_key(item, name), reverse=direction == "desc")
    return items


def _sort_key(item: object, name: str) -> tuple[bool, Any]:
    value = getattr(item, name)
    return (value is not None, value)


def chosen(query: Query, key: str, allowed: Sequence[str]) -> set[str]:
    """The values of a repeatable filter; all of `allowed` when it is not given."""
    values = query.all(key)
    for value in values:
        if value not in allowed:
            raise invalid_input(key, f"'{value}' is not one of {', '.join(allowed)}")
    return set(values or allowed)
