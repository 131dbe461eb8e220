"""Routes of servers: order, list, change, delete."""

from typing import get_args

from sandbox.hetzner import bodies, power, servers
from sandbox.hetzner.endpoint import Call, Endpoint, Reply, created, ok
from sandbox.hetzner.errors import not_found
from sandbox.hetzner.names import check_hostname
from sandbox.hetzner.paging import chosen, narrow, page
from sandbox.hetzner.records import Server, ServerStatus
from sandbox.hetzner.updates import update
from sandbox.hetzner.views import action_view, server_view


def find_server(call: Call) -> Server:
    server = call.scope.project.servers.get(call.id)
    if server is None:
        raise not_found("server", call.id)
    return server


def _list(call: Call) -> Reply:
    statuses = chosen(call.query, "status", (*get_args(ServerStatus), "migrating", "rebuilding", "unknown"))
    scope = call.scope
    listed = [
        server
        for server in scope.project.servers.values()
        if server.status in statuses and server.listed_from <= scope.now
    ]
    return page(call, "servers", narrow(call.query, listed), server_view)


def _create(call: Call) -> Reply:
    made = servers.create(call.scope, bodies.parse(bodies.CreateServer, call.body))
    # A recorded reply says `locked: false` although its actions run and lock the server.
    body = {
        "server": {**server_view(call.scope, made.server), "locked": False},
        "action": action_view(call.scope, made.action),
        "next_actions": [action_view(call.scope, item) for item in made.next_actions],
        "root_password": made.root_password,
    }
    return created(body)


def _get(call: Call) -> Reply:
    return ok({"server": server_view(call.scope, find_server(call))})


def _update(call: Call) -> Reply:
    server, body = find_server(call), bodies.parse(bodies.Update, call.body)
    update("server", server, call.scope.project.servers, body, check_hostname)
    return ok({"server": server_view(call.scope, server)})


def _delete(call: Call) -> Reply:
    action = power.delete(call.scope, find_server(call))
    return ok({"action": action_view(call.scope, action)})


ENDPOINTS = (
    Endpoint("GET", "/servers", _list),
    Endpoint("POST", "/servers", _create),
    Endpoint("GET", "/servers/{id}", _get),
    Endpoint("PUT", "/servers/{id}", _update),
    Endpoint("DELETE", "/servers/{id}", _delete),
)
