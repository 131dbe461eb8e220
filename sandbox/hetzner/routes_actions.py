"""Routes that show actions: by id, several at once, and those of one resource or of one kind of it."""

from collections.abc import Collection
from typing import get_args

from sandbox.hetzner.endpoint import Call, Endpoint, Handler, Reply, ok
from sandbox.hetzner.errors import invalid_input, not_found
from sandbox.hetzner.images import IMAGES
from sandbox.hetzner.paging import chosen, ordered, page
from sandbox.hetzner.records import Action
from sandbox.hetzner.views import action_view

_SORT_FIELDS = ("id", "command", "status", "started", "finished")
# Path of a kind of resource and what its references in actions are called.
_KINDS = {
    "servers": "server",
    "networks": "network",
    "firewalls": "firewall",
    "primary_ips": "primary_ip",
    "images": "image",
}


def _several(call: Call) -> Reply:
    """Those of the `id`s that exist, unpaged. Since January 2025 there is no list of all actions any more."""
    wanted = call.query.all("id")
    if not wanted:
        raise invalid_input("id", "missing required field")
    if not all(item.isascii() and item.isdigit() and len(item) <= 19 for item in wanted):
        raise invalid_input("id", "must be a number")
    known = call.scope.project.actions
    found = [known[int(item)] for item in dict.fromkeys(wanted) if int(item) in known]
    return ok({"actions": [action_view(call.scope, action) for action in found]})


def _one(call: Call) -> Reply:
    return ok({"action": action_view(call.scope, _find(call, call.id))})


def _find(call: Call, action_id: int) -> Action:
    action = call.scope.project.actions.get(action_id)
    if action is None:
        raise not_found("action", action_id)
    return action


def _page(call: Call, actions: list[Action]) -> Reply:
    statuses = chosen(call.query, "status", get_args(Action.model_fields["status"].annotation))
    kept = [action for action in actions if action.status in statuses]
    return page(call, "actions", ordered(call.query, kept, _SORT_FIELDS), action_view)


def _all_of(kind: str) -> Handler:
    def handler(call: Call) -> Reply:
        actions = call.scope.project.actions.values()
        return _page(call, [action for action in actions if action.resource(kind) is not None])

    return handler


def _one_of(kind: str) -> Handler:
    def handler(call: Call) -> Reply:
        action = _find(call, call.id)
        if action.resource(kind) is None:
            raise not_found("action", call.id)
        return ok({"action": action_view(call.scope, action)})

    return handler


def _of_resource(kind: str) -> Handler:
    def handler(call: Call) -> Reply:
        actions = [item for item in call.scope.project.actions.values() if item.resource(kind) == call.id]
        if not actions:
            _check_exists(call, kind)
        return _page(call, actions)

    return handler


def _check_exists(call: Call, kind: str) -> None:
    project = call.scope.project
    tables: dict[str, Collection[int]] = {
        "server": project.servers,
        "network": project.networks,
        "firewall": project.firewalls,
        "primary_ip": project.primary_ips,
        "image": [image.id for image in IMAGES],
    }
    if call.id not in tables[kind]:
        raise not_found(kind, call.id)


def _one_of_resource(kind: str) -> Handler:
    def handler(call: Call) -> Reply:
        action = _find(call, call.ids["action_id"])
        if action.resource(kind) != call.id:
            raise not_found("action", action.id)
        return ok({"action": action_view(call.scope, action)})

    return handler


ENDPOINTS = (
    Endpoint("GET", "/actions", _several),
    Endpoint("GET", "/actions/{id}", _one),
    *(Endpoint("GET", f"/{path}/actions", _all_of(kind)) for path, kind in _KINDS.items()),
    *(Endpoint("GET", f"/{path}/actions/{{id}}", _one_of(kind)) for path, kind in _KINDS.items()),
    *(Endpoint("GET", f"/{path}/{{id}}/actions", _of_resource(kind)) for path, kind in _KINDS.items()),
    *(
        Endpoint("GET", f"/{path}/{{id}}/actions/{{action_id}}", _one_of_resource(kind))
        for path, kind in _KINDS.items()
    ),
)
