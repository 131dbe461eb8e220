"""Routes of firewalls, their rules and what they stand before."""

from sandbox.hetzner import actions, bodies, firewalls
from sandbox.hetzner.endpoint import NO_CONTENT, Call, Endpoint, Reply, created, ok
from sandbox.hetzner.labels import check_labels
from sandbox.hetzner.names import check_name, check_unique
from sandbox.hetzner.paging import narrow, page
from sandbox.hetzner.records import Action, Firewall, ResourceRef
from sandbox.hetzner.updates import update
from sandbox.hetzner.views import action_view, firewall_view


def _list(call: Call) -> Reply:
    found = narrow(call.query, call.scope.project.firewalls.values())
    return page(call, "firewalls", found, firewall_view)


def _create(call: Call) -> Reply:
    body, scope = bodies.parse(bodies.CreateFirewall, call.body), call.scope
    check_name(body.name)
    check_labels(body.labels or {})
    firewalls.check_rules(body.rules or [])
    check_unique("firewall", body.name, scope.project.firewalls.values())
    firewall = Firewall(
        id=scope.new_id(),
        name=body.name,
        labels=body.labels or {},
        created=scope.now,
        rules=body.rules or [],
    )
    firewalls.apply(scope, firewall, body.apply_to or [])
    scope.project.firewalls[firewall.id] = firewall
    begun = [_start(call, firewall, "set_firewall_rules")] if body.rules else []
    begun += [_start(call, firewall, "apply_firewall", target) for target in body.apply_to or []]
    view = firewall_view(scope, firewall)
    return created({"firewall": view, "actions": [action_view(scope, item) for item in begun]})


def _get(call: Call) -> Reply:
    return ok({"firewall": firewall_view(call.scope, firewalls.find(call.scope, call.id))})


def _update(call: Call) -> Reply:
    firewall, body = firewalls.find(call.scope, call.id), bodies.parse(bodies.Update, call.body)
    update("firewall", firewall, call.scope.project.firewalls, body)
    return ok({"firewall": firewall_view(call.scope, firewall)})


def _delete(call: Call) -> Reply:
    firewalls.delete(call.scope, firewalls.find(call.scope, call.id))
    return NO_CONTENT


def _set_rules(call: Call) -> Reply:
    firewall, body = firewalls.find(call.scope, call.id), bodies.parse(bodies.SetRules, call.body)
    firewalls.check_rules(body.rules)
    firewall.rules = body.rules
    return _begun(call, [_start(call, firewall, "set_firewall_rules")])


def _apply(call: Call) -> Reply:
    firewall, body = firewalls.find(call.scope, call.id), bodies.parse(bodies.ApplyTo, call.body)
    firewalls.apply(call.scope, firewall, body.apply_to)
    return _begun(call, [_start(call, firewall, "apply_firewall", target) for target in body.apply_to])


def _remove(call: Call) -> Reply:
    firewall, body = firewalls.find(call.scope, call.id), bodies.parse(bodies.RemoveFrom, call.body)
    firewalls.remove(firewall, body.remove_from)
    return _begun(call, [_start(call, firewall, "remove_firewall", target) for target in body.remove_from])


def _start(call: Call, firewall: Firewall, command: str, target: bodies.FirewallTarget | None = None) -> Action:
    """An action on a server's firewall locks that server, as people found who deleted one right after."""
    refs = [ResourceRef(id=firewall.id, type="firewall")]
    if target is not None and target.server is not None:
        refs.append(ResourceRef(id=target.server.id, type="server"))
    return actions.start(call.scope, command, call.scope.world.timings.change, *refs)


def _begun(call: Call, begun: list[Action]) -> Reply:
    return created({"actions": [action_view(call.scope, action) for action in begun]})


ENDPOINTS = (
    Endpoint("GET", "/firewalls", _list),
    Endpoint("POST", "/firewalls", _create),
    Endpoint("GET", "/firewalls/{id}", _get),
    Endpoint("PUT", "/firewalls/{id}", _update),
    Endpoint("DELETE", "/firewalls/{id}", _delete),
    Endpoint("POST", "/firewalls/{id}/actions/set_rules", _set_rules),
    Endpoint("POST", "/firewalls/{id}/actions/apply_to_resources", _apply),
    Endpoint("POST", "/firewalls/{id}/actions/remove_from_resources", _remove),
)
