"""Placement groups: at most ten servers each and fifty groups a project, a leaving server still counts."""

from sandbox.hetzner.errors import ApiError, limit_exceeded, not_found
from sandbox.hetzner.names import check_unique
from sandbox.hetzner.records import PlacementGroup, Server
from sandbox.hetzner.world import Scope

MEMBERS = 10
GROUPS = 50


def members(scope: Scope, group_id: int) -> list[int]:
    """Ids of the servers in the group, those included that are being deleted."""
    return [server.id for server in scope.project.servers.values() if server.placement_group == group_id]


def check_room(scope: Scope, group_id: int) -> None:
    """Raises `ApiError` not_found, or placement_group_member_limit_reached for a full group."""
    if group_id not in scope.project.placement_groups:
        raise not_found("placement group", group_id)
    if len(members(scope, group_id)) >= MEMBERS:
        raise ApiError(
            "placement_group_member_limit_reached",
            f"placement group with ID {group_id} contains already {MEMBERS} servers",
        )


def create(scope: Scope, name: str, labels: dict[str, str]) -> PlacementGroup:
    groups = scope.project.placement_groups
    if len(groups) >= GROUPS:
        raise limit_exceeded("placement group", "placement_group_limit")
    if scope.world.faults.on_name("duplicate_name", name) is None:
        check_unique("placement group", name, groups.values())
    group = PlacementGroup(id=scope.new_id(), name=name, labels=labels, created=scope.now)
    groups[group.id] = group
    return group


def delete(scope: Scope, group: PlacementGroup) -> None:
    """Servers stay and lose the group."""
    for server in scope.project.servers.values():
        if server.placement_group == group.id:
            server.placement_group = None
    del scope.project.placement_groups[group.id]


def join(scope: Scope, server: Server, group_id: int) -> None:
    """Raises `ApiError` unless the server is off, in no group, and the group has room."""
    if server.status != "off":
        raise ApiError("server_not_stopped", "server must be stopped")
    if server.placement_group is not None:
        raise ApiError("already_in_placement_group", "server is already in a placement group")
    check_room(scope, group_id)
    server.placement_group = group_id


def leave(server: Server) -> None:
    if server.placement_group is None:
        raise ApiError("invalid_input", "server is not in a placement group", {})
    server.placement_group = None
