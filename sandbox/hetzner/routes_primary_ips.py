"""Routes of primary IPs."""

from sandbox.hetzner import actions, bodies, primary_ips
from sandbox.hetzner.catalogue import find_location
from sandbox.hetzner.endpoint import NO_CONTENT, Call, Endpoint, Reply, created, ok
from sandbox.hetzner.errors import invalid_input, not_found
from sandbox.hetzner.labels import check_labels
from sandbox.hetzner.names import check_name, check_unique
from sandbox.hetzner.paging import narrow, page
from sandbox.hetzner.records import Action, PrimaryIp, ResourceRef, Server
from sandbox.hetzner.updates import update
from sandbox.hetzner.views import action_view, primary_ip_view


def _find(call: Call) -> PrimaryIp:
    primary_ip = call.scope.project.primary_ips.get(call.id)
    if primary_ip is None:
        raise not_found("Primary IP", call.id)
    return primary_ip


def _list(call: Call) -> Reply:
    address = call.query.first("ip")
    kept = [item for item in call.scope.project.primary_ips.values() if address in {None, item.ip}]
    return page(call, "primary_ips", narrow(call.query, kept), primary_ip_view)


def _create(call: Call) -> Reply:
    body, scope = bodies.parse(bodies.CreatePrimaryIp, call.body), call.scope
    check_name(body.name)
    check_labels(body.labels or {})
    location = _location(call, body)
    if body.type == "ipv4":
        primary_ips.check_quota(scope)
    check_unique("Primary IP", body.name, scope.project.primary_ips.values())
    primary_ip = primary_ips.make(
        scope,
        body.type,
        location,
        name=body.name,
        labels=body.labels,
        auto_delete=body.auto_delete or False,
    )
    reply = {"primary_ip": primary_ip_view(scope, primary_ip)}
    if body.assignee_id is not None:
        server = primary_ips.assign(scope, primary_ip, body.assignee_id)
        reply["primary_ip"] = primary_ip_view(scope, primary_ip)
        reply["action"] = action_view(scope, _start(call, primary_ip, "assign_primary_ip", server))
    return created(reply)


def _location(call: Call, body: bodies.CreatePrimaryIp) -> str:
    """The server's place, or the one that was asked for; exactly one of them is given."""
    if (body.assignee_id is None) == (body.location is None):
        raise invalid_input("location", "exactly one of location and assignee_id is required")
    if body.assignee_id is not None:
        server = call.scope.project.servers.get(body.assignee_id)
        if server is None:
            raise not_found("server", body.assignee_id)
        primary_ips.check_assignable(server, body.type)
        return server.location
    location = find_location(body.location or "")
    if location is None:
        raise invalid_input("location", f"location '{body.location}' not found")
    return location.name


def _get(call: Call) -> Reply:
    return ok({"primary_ip": primary_ip_view(call.scope, _find(call))})


def _update(call: Call) -> Reply:
    primary_ip, body = _find(call), bodies.parse(bodies.UpdatePrimaryIp, call.body)
    update("Primary IP", primary_ip, call.scope.project.primary_ips, body)
    if body.auto_delete is not None:
        primary_ip.auto_delete = body.auto_delete
    return ok({"primary_ip": primary_ip_view(call.scope, primary_ip)})


def _delete(call: Call) -> Reply:
    primary_ips.delete(call.scope, _find(call))
    return NO_CONTENT


def _assign(call: Call) -> Reply:
    primary_ip, body = _find(call), bodies.parse(bodies.AssignPrimaryIp, call.body)
    server = primary_ips.assign(call.scope, primary_ip, body.assignee_id)
    return _begun(call, _start(call, primary_ip, "assign_primary_ip", server))


def _unassign(call: Call) -> Reply:
    primary_ip = _find(call)
    server = primary_ips.unassign(call.scope, primary_ip)
    return _begun(call, _start(call, primary_ip, "unassign_primary_ip", server))


def _change_dns_ptr(call: Call) -> Reply:
    primary_ip, body = _find(call), bodies.parse(bodies.ChangeDnsPtr, call.body)
    if body.dns_ptr is None:
        primary_ip.dns_ptr.pop(body.ip, None)
    else:
        primary_ip.dns_ptr[body.ip] = body.dns_ptr
    return _begun(call, _start(call, primary_ip, "change_dns_ptr"))


def _protect(call: Call) -> Reply:
    primary_ip, body = _find(call), bodies.parse(bodies.ChangeProtection, call.body)
    if body.delete is not None:
        primary_ip.delete_protection = body.delete
    return _begun(call, _start(call, primary_ip, "change_protection"))


def _start(call: Call, primary_ip: PrimaryIp, command: str, server: Server | None = None) -> Action:
    refs = [ResourceRef(id=primary_ip.id, type="primary_ip")]
    if server is not None:
        refs.append(actions.server_ref(server))
    return actions.start(call.scope, command, call.scope.world.timings.change, *refs)


def _begun(call: Call, action: Action) -> Reply:
    return created({"action": action_view(call.scope, action)})


ENDPOINTS = (
    Endpoint("GET", "/primary_ips", _list),
    Endpoint("POST", "/primary_ips", _create),
    Endpoint("GET", "/primary_ips/{id}", _get),
    Endpoint("PUT", "/primary_ips/{id}", _update),
    Endpoint("DELETE", "/primary_ips/{id}", _delete),
    Endpoint("POST", "/primary_ips/{id}/actions/assign", _assign),
    Endpoint("POST", "/primary_ips/{id}/actions/unassign", _unassign),
    Endpoint("POST", "/primary_ips/{id}/actions/change_dns_ptr", _change_dns_ptr),
    Endpoint("POST", "/primary_ips/{id}/actions/change_protection", _protect),
)
