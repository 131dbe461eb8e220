"""What the passing of time does: actions end, servers change their status, some of them vanish."""

from collections.abc import Callable
from datetime import datetime

from sandbox.hetzner import actions, power
from sandbox.hetzner.records import Action, Server
from sandbox.hetzner.world import Due, DueKind, Scope, World

Effect = Callable[[Scope, Action, Server], None]


def settle(world: World, now: datetime) -> bool:
    """Carry out, in order, what was due by `now`, each at its own moment. Says whether there was anything."""
    moved = False
    while (due := world.pop_due(now)) is not None:
        _HAPPENINGS[due.kind](Scope(world, world.projects[due.project], due.at), due)
        moved = True
    return moved


def _end_action(scope: Scope, due: Due) -> None:
    action = scope.project.actions.get(due.ref)
    # Its server may have gone before it, and taken it along.
    if action is None or action.status != "running":
        return
    actions.end(scope, action)
    server = actions.server_of(scope, action)
    effects = _ON_SUCCESS if action.failure is None else _ON_FAILURE
    effect = effects.get(action.command)
    if server is not None and effect is not None:
        effect(scope, action, server)


def _created(scope: Scope, action: Action, server: Server) -> None:
    follows = {child.command for child in actions.children(scope, action)}
    server.status = "starting" if "start_server" in follows else "off"


def _not_created(scope: Scope, action: Action, server: Server) -> None:
    """The server exists all the same; what should have followed fails too."""
    for child in actions.children(scope, action):
        child.failure = action.failure
    server.status = "off"


def _started(scope: Scope, action: Action, server: Server) -> None:
    if server.status == "running":
        return
    server.status = "running"
    scope.tell("running", server)
    fault = scope.world.faults.on_name("vanish", server.name)
    if fault is not None:
        scope.after(fault.seconds, "vanish", server.id)


def _stopped(scope: Scope, action: Action, server: Server) -> None:
    _turn_off(scope, server)


def _not_started(scope: Scope, action: Action, server: Server) -> None:
    if server.status == "starting":
        server.status = "off"


def _not_stopped(scope: Scope, action: Action, server: Server) -> None:
    if server.status == "stopping":
        server.status = "running"


def _asked_to_stop(scope: Scope, action: Action, server: Server) -> None:
    if server.status == "running":
        server.status = "stopping"
        scope.after(scope.world.timings.shutdown, "stopped", server.id)


def _restarted(scope: Scope, action: Action, server: Server) -> None:
    if server.status == "running":
        scope.tell("stopped", server)
        scope.tell("running", server)


def _deleted(scope: Scope, action: Action, server: Server) -> None:
    power.remove(scope, server)


def _not_deleted(scope: Scope, action: Action, server: Server) -> None:
    server.status = "off"
    scope.tell("stopped", server)


def _attached(scope: Scope, action: Action, server: Server) -> None:
    for nic in server.private_nics:
        if nic.network == action.resource("network"):
            nic.state = "ok"


def _detached(scope: Scope, action: Action, server: Server) -> None:
    network = action.resource("network")
    server.private_nics = [nic for nic in server.private_nics if nic.network != network]


def _finish_shutdown(scope: Scope, due: Due) -> None:
    server = scope.project.servers.get(due.ref)
    if server is not None and server.status == "stopping":
        _turn_off(scope, server)


def _turn_off(scope: Scope, server: Server) -> None:
    if server.status != "off":
        server.status = "off"
        scope.tell("stopped", server)


def _vanish(scope: Scope, due: Due) -> None:
    server = scope.project.servers.get(due.ref)
    if server is not None:
        power.remove(scope, server)


_HAPPENINGS: dict[DueKind, Callable[[Scope, Due], None]] = {
    "action": _end_action,
    "stopped": _finish_shutdown,
    "vanish": _vanish,
}
_ON_SUCCESS: dict[str, Effect] = {
    "create_server": _created,
    "start_server": _started,
    "stop_server": _stopped,
    "shutdown_server": _asked_to_stop,
    "reboot_server": _restarted,
    "reset_server": _restarted,
    "delete_server": _deleted,
    "attach_to_network": _attached,
    "detach_from_network": _detached,
}
_ON_FAILURE: dict[str, Effect] = {
    "create_server": _not_created,
    "start_server": _not_started,
    "stop_server": _not_stopped,
    "delete_server": _not_deleted,
    "attach_to_network": _detached,
    "detach_from_network": _attached,
}
