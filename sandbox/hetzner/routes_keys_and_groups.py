"""Routes of the two simplest resources: SSH keys and placement groups."""

from sandbox.hetzner import bodies, placement, ssh_keys
from sandbox.hetzner.endpoint import NO_CONTENT, Call, Endpoint, Reply, created, ok
from sandbox.hetzner.errors import not_found
from sandbox.hetzner.labels import check_labels
from sandbox.hetzner.names import check_name
from sandbox.hetzner.paging import narrow, page
from sandbox.hetzner.records import PlacementGroup, SshKey
from sandbox.hetzner.updates import update
from sandbox.hetzner.views import placement_group_view, ssh_key_view


def _find_key(call: Call) -> SshKey:
    key = call.scope.project.ssh_keys.get(call.id)
    if key is None:
        raise not_found("SSH key", call.id)
    return key


def _list_keys(call: Call) -> Reply:
    mark = call.query.first("fingerprint")
    keys = [key for key in call.scope.project.ssh_keys.values() if mark in {None, key.fingerprint}]
    return page(call, "ssh_keys", narrow(call.query, keys), ssh_key_view)


def _create_key(call: Call) -> Reply:
    body = bodies.parse(bodies.CreateSshKey, call.body)
    check_name(body.name)
    check_labels(body.labels or {})
    key = ssh_keys.create(call.scope, body.name, body.public_key, body.labels or {})
    return created({"ssh_key": ssh_key_view(call.scope, key)})


def _get_key(call: Call) -> Reply:
    return ok({"ssh_key": ssh_key_view(call.scope, _find_key(call))})


def _update_key(call: Call) -> Reply:
    key = _find_key(call)
    update("SSH key", key, call.scope.project.ssh_keys, bodies.parse(bodies.Update, call.body))
    return ok({"ssh_key": ssh_key_view(call.scope, key)})


def _delete_key(call: Call) -> Reply:
    del call.scope.project.ssh_keys[_find_key(call).id]
    return NO_CONTENT


def _find_group(call: Call) -> PlacementGroup:
    group = call.scope.project.placement_groups.get(call.id)
    if group is None:
        raise not_found("placement group", call.id)
    return group


def _list_groups(call: Call) -> Reply:
    groups = call.scope.project.placement_groups.values()
    return page(call, "placement_groups", narrow(call.query, groups), placement_group_view)


def _create_group(call: Call) -> Reply:
    body = bodies.parse(bodies.CreatePlacementGroup, call.body)
    check_name(body.name)
    check_labels(body.labels or {})
    group = placement.create(call.scope, body.name, body.labels or {})
    return created({"placement_group": placement_group_view(call.scope, group)})


def _get_group(call: Call) -> Reply:
    return ok({"placement_group": placement_group_view(call.scope, _find_group(call))})


def _update_group(call: Call) -> Reply:
    group, body = _find_group(call), bodies.parse(bodies.Update, call.body)
    update("placement group", group, call.scope.project.placement_groups, body)
    return ok({"placement_group": placement_group_view(call.scope, group)})


def _delete_group(call: Call) -> Reply:
    placement.delete(call.scope, _find_group(call))
    return NO_CONTENT


ENDPOINTS = (
    Endpoint("GET", "/ssh_keys", _list_keys),
    Endpoint("POST", "/ssh_keys", _create_key),
    Endpoint("GET", "/ssh_keys/{id}", _get_key),
    Endpoint("PUT", "/ssh_keys/{id}", _update_key),
    Endpoint("DELETE", "/ssh_keys/{id}", _delete_key),
    Endpoint("GET", "/placement_groups", _list_groups),
    Endpoint("POST", "/placement_groups", _create_group),
    Endpoint("GET", "/placement_groups/{id}", _get_group),
    Endpoint("PUT", "/placement_groups/{id}", _update_group),
    Endpoint("DELETE", "/placement_groups/{id}", _delete_group),
)
