"""What can be done to a server that exists: power, networks, and its end."""

from sandbox.hetzner import actions, networks, primary_ips
from sandbox.hetzner.bodies import AttachToNetwork
from sandbox.hetzner.errors import ApiError, invalid_input
from sandbox.hetzner.firewalls import forget_server
from sandbox.hetzner.records import Action, ResourceRef, Server
from sandbox.hetzner.world import Scope


def power_on(scope: Scope, server: Server) -> Action:
    actions.check_unlocked(server)
    if server.status == "off":
        server.status = "starting"
    return actions.start(scope, "start_server", scope.world.timings.start, actions.server_ref(server))


def power_off(scope: Scope, server: Server) -> Action:
    """Pull the plug."""
    actions.check_unlocked(server)
    if server.status == "running":
        server.status = "stopping"
    return actions.start(scope, "stop_server", scope.world.timings.stop, actions.server_ref(server))


def shut_down(scope: Scope, server: Server) -> Action:
    """Ask the operating system to stop. The action only says that it was asked; the end comes later."""
    actions.check_unlocked(server)
    return actions.start(scope, "shutdown_server", scope.world.timings.change, actions.server_ref(server))


def restart(scope: Scope, server: Server, command: str) -> Action:
    """`reboot_server` or `reset_server`; a server that is off stays off."""
    actions.check_unlocked(server)
    return actions.start(scope, command, scope.world.timings.start, actions.server_ref(server))


def attach(scope: Scope, server: Server, body: AttachToNetwork) -> Action:
    actions.check_unlocked(server)
    nic = networks.reserve(scope, server, body)
    return _network_action(scope, server, "attach_to_network", nic.network)


def detach(scope: Scope, server: Server, network_id: int) -> Action:
    actions.check_unlocked(server)
    networks.find(scope, network_id)
    nic = next((item for item in server.private_nics if item.network == network_id), None)
    if nic is None:
        raise invalid_input("network", "server is not attached to the network")
    nic.state = "detaching"
    return _network_action(scope, server, "detach_from_network", network_id)


def _network_action(scope: Scope, server: Server, command: str, network_id: int) -> Action:
    network = ResourceRef(id=network_id, type="network")
    return actions.start(scope, command, scope.world.timings.network, actions.server_ref(server), network)


def change(scope: Scope, server: Server, command: str, *more: ResourceRef) -> Action:
    """A small action whose effect is there at once: protection, placement group."""
    return actions.start(scope, command, scope.world.timings.change, actions.server_ref(server), *more)


def delete(scope: Scope, server: Server) -> Action:
    """The server stays listed, and stays in its placement group, until the action has ended."""
    if server.delete_protection:
        raise ApiError("protected", "server deletion is protected", {})
    actions.check_unlocked(server)
    actions.abort_all(scope, server)
    server.stuck = False
    server.status = "deleting"
    return actions.start(scope, "delete_server", scope.world.timings.delete, actions.server_ref(server))


def remove(scope: Scope, server: Server) -> None:
    """Take the server out of the world with all that goes with it."""
    actions.abort_all(scope, server)
    primary_ips.release_all(scope, server)
    forget_server(scope, server.id)
    del scope.project.servers[server.id]
    scope.tell("gone", server)
