"""Routes that make a server do something; each answers 201 with the action that began."""

from collections.abc import Callable

from sandbox.hetzner import actions, bodies, placement, power
from sandbox.hetzner.endpoint import Call, Endpoint, Handler, Reply, created
from sandbox.hetzner.errors import invalid_input
from sandbox.hetzner.records import Action, ResourceRef, Server
from sandbox.hetzner.routes_servers import find_server
from sandbox.hetzner.views import action_view


def _route(name: str, act: Callable[[Call, Server], Action]) -> Endpoint:
    return Endpoint("POST", f"/servers/{{id}}/actions/{name}", _answer(act))


def _answer(act: Callable[[Call, Server], Action]) -> Handler:
    def handler(call: Call) -> Reply:
        action = act(call, find_server(call))
        return created({"action": action_view(call.scope, action)})

    return handler


def _attach(call: Call, server: Server) -> Action:
    return power.attach(call.scope, server, bodies.parse(bodies.AttachToNetwork, call.body))


def _detach(call: Call, server: Server) -> Action:
    return power.detach(call.scope, server, bodies.parse(bodies.DetachFromNetwork, call.body).network)


def _join_group(call: Call, server: Server) -> Action:
    body = bodies.parse(bodies.AddToPlacementGroup, call.body)
    actions.check_unlocked(server)
    placement.join(call.scope, server, body.placement_group)
    group = ResourceRef(id=body.placement_group, type="placement_group")
    return power.change(call.scope, server, "add_to_placement_group", group)


def _leave_group(call: Call, server: Server) -> Action:
    actions.check_unlocked(server)
    placement.leave(server)
    return power.change(call.scope, server, "remove_from_placement_group")


def _protect(call: Call, server: Server) -> Action:
    """The cloud wants both kinds of protection to agree."""
    body = bodies.parse(bodies.ChangeProtection, call.body)
    delete = server.delete_protection if body.delete is None else body.delete
    rebuild = server.rebuild_protection if body.rebuild is None else body.rebuild
    if delete != rebuild:
        raise invalid_input("rebuild", "must have the same value as delete")
    actions.check_unlocked(server)
    server.delete_protection, server.rebuild_protection = delete, rebuild
    return power.change(call.scope, server, "change_protection")


ENDPOINTS = (
    _route("poweron", lambda call, server: power.power_on(call.scope, server)),
    _route("poweroff", lambda call, server: power.power_off(call.scope, server)),
    _route("shutdown", lambda call, server: power.shut_down(call.scope, server)),
    _route("reboot", lambda call, server: power.restart(call.scope, server, "reboot_server")),
    _route("reset", lambda call, server: power.restart(call.scope, server, "reset_server")),
    _route("attach_to_network", _attach),
    _route("detach_from_network", _detach),
    _route("add_to_placement_group", _join_group),
    _route("remove_from_placement_group", _leave_group),
    _route("change_protection", _protect),
)
