"""Asynchronous actions: how they start, what they lock while they run, and how they end."""

import itertools

from sandbox.hetzner.errors import ApiError
from sandbox.hetzner.records import Action, ActionError, ResourceRef, Server
from sandbox.hetzner.world import Scope

# Finished actions a project remembers, so that the state of a long-lived sandbox stays small.
KEPT = 5000


def start(
    scope: Scope,
    command: str,
    seconds: float | None,
    *resources: ResourceRef,
    parent: Action | None = None,
) -> Action:
    """Begin an action that ends in `seconds`, or never for None. A server among `resources` is locked by it."""
    scope.world.counters.action += 1
    action = Action(
        id=scope.world.counters.action,
        command=command,
        started=scope.now,
        resources=list(resources),
        parent_id=None if parent is None else parent.id,
    )
    server = server_of(scope, action)
    action.failure = _planned_failure(scope, command, "" if server is None else server.name)
    if seconds is not None:
        action.due = scope.after(seconds, "action", action.id)
    if server is not None:
        server.running_actions.append(action.id)
    scope.project.actions[action.id] = action
    _forget_oldest(scope.project.actions)
    return action


def _forget_oldest(known: dict[int, Action]) -> None:
    finished = (action.id for action in known.values() if action.status != "running")
    for action_id in list(itertools.islice(finished, max(0, len(known) - KEPT))):
        del known[action_id]


def end(scope: Scope, action: Action) -> None:
    """Mark the action finished, well or not, and release its lock."""
    action.status = "success" if action.failure is None else "error"
    action.finished = scope.now
    server = server_of(scope, action)
    if server is not None and action.id in server.running_actions:
        server.running_actions.remove(action.id)


def abort_all(scope: Scope, server: Server) -> None:
    """End in error whatever still runs on a server that is going away."""
    for action_id in list(server.running_actions):
        action = scope.project.actions[action_id]
        action.failure = ActionError(code="action_failed", message="Action failed")
        end(scope, action)


def children(scope: Scope, action: Action) -> list[Action]:
    """Actions that run on the same server because of this one."""
    server = server_of(scope, action)
    running = [] if server is None else [scope.project.actions[item] for item in server.running_actions]
    return [item for item in running if item.parent_id == action.id]


def server_of(scope: Scope, action: Action) -> Server | None:
    server_id = action.resource("server")
    return None if server_id is None else scope.project.servers.get(server_id)


def check_unlocked(server: Server) -> None:
    """Raises `ApiError` locked while an action runs. A stuck server is not locked: it can still be deleted."""
    if server.running_actions and not server.stuck:
        raise ApiError("locked", "cannot perform operation because server is locked", {})


def server_ref(server: Server) -> ResourceRef:
    return ResourceRef(id=server.id, type="server")


def _planned_failure(scope: Scope, command: str, server_name: str) -> ActionError | None:
    fault = scope.world.faults.on_action(command, server_name)
    if fault is None:
        return None
    return ActionError(code=fault.code, message=fault.message or "Unknown Error")
