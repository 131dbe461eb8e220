"""One machine's server: created or adopted, seen running, deleted, seen gone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from hcloud import APIException, Client
from hcloud.actions import BoundAction
from hcloud.images import Image
from hcloud.locations import Location
from hcloud.server_types import ServerType
from hcloud.servers import BoundServer, Server
from hcloud.ssh_keys import SSHKey
from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.beating import beat_for, beaten, beating
from activities.failures import Failure, as_application_error
from activities.hetzner_client import Cloud
from activities.project import Projects
from activities.vault import Vault
from core import calls, machine_calls
from core.cloud_errors import CloudClass, CloudFailure
from core.ownership import owned_by, server_labels

IMAGE = "ubuntu-24.04"
USER_DATA_MAX = 32 * 1024  # bytes, the API's limit
LOOKS_LONGEST_S = 5.0
OFF_LOOKS = 3  # in a row, after its actions: a server passes through `off` on its way up

# The actions that bring a server up; who adopts one did not hear their ids and asks for them.
_MAKING = ("create_server", "start_server")

# After these the create may have been carried out: look before anything else.
_LOOK_AGAIN = (CloudClass.UNKNOWN, CloudClass.BUSY, CloudClass.EXISTS)


class ServerActivities:
    """Activities on servers. `poll_s` is the first pause between two looks at something that takes its time."""

    def __init__(
        self,
        cloud: Cloud,
        vault: Vault,
        user_data: Callable[[machine_calls.CreateServer], Awaitable[str]],
        poll_s: float = 2.0,
    ) -> None:
        self._projects = Projects(cloud, vault)
        self._user_data = user_data
        self._poll_s = poll_s

    @activity.defn(name=machine_calls.CREATE_SERVER.name)
    @beaten
    async def create_server(self, call: machine_calls.CreateServer) -> machine_calls.ServerSeen:
        """Create the server; the one that an earlier attempt made is adopted, never made twice."""
        known = await self._adoptable(call)
        if known is not None:
            return known
        user_data = await self._user_data(call)
        if len(user_data.encode()) > USER_DATA_MAX:
            failure = CloudFailure(
                cls=CloudClass.INVALID, code="user_data_too_long", message="user-data is over 32 KiB"
            )
            raise as_application_error(failure)
        try:
            return await self._projects.call(call.project, lambda client: _create(client, call, user_data))
        except Failure as error:
            if error.failure.cls not in _LOOK_AGAIN:
                raise as_application_error(error.failure) from error
            known = await self._adoptable(call)
            if known is not None:
                return known
            raise as_application_error(_not_created(error.failure)) from error

    async def _adoptable(self, call: machine_calls.CreateServer) -> machine_calls.ServerSeen | None:
        """The machine's server if it exists. Raises ApplicationError when the name is somebody else's."""
        return await self._projects.run(call.project, lambda client: _adopted(client, call))

    @activity.defn(name=machine_calls.AWAIT_SERVER.name)
    async def await_server(self, call: machine_calls.AwaitServer) -> calls.Nothing:
        """Wait for the actions, all in one request a look, and then for the server to run."""
        waiting, off_looks, pause = call.action_ids, 0, self._poll_s
        async with beating(lambda: call.server_id):
            while True:
                waiting = await self._unfinished(call, waiting)
                status = "" if waiting else await self._status(call)
                if status == Server.STATUS_RUNNING:
                    return calls.Nothing()
                off_looks = off_looks + 1 if status == Server.STATUS_OFF else 0
                if off_looks == OFF_LOOKS:
                    raise _came_to_nothing("off", f"server {call.server_id} stayed off after it was started")
                await beat_for(pause)
                pause = min(pause * 1.5, LOOKS_LONGEST_S)

    async def _unfinished(self, call: machine_calls.AwaitServer, action_ids: list[int]) -> list[int]:
        if not action_ids:
            return []
        return await self._projects.run(call.project, lambda client: _unfinished(client, call.server_id, action_ids))

    async def _status(self, call: machine_calls.AwaitServer) -> str:
        return await self._projects.run(
            call.project, lambda client: client.servers.get_by_id(call.server_id).status or ""
        )

    @activity.defn(name=machine_calls.DELETE_SERVER.name)
    @beaten
    async def delete_server(self, call: machine_calls.DeleteServer) -> machine_calls.DeleteSent:
        """Delete the machine's server. What is not the pool's is never touched; absent is success."""
        server = await self._projects.run(call.project, lambda client: _find(client, call))
        if server is None:
            return machine_calls.DeleteSent(server_id=call.server_id)
        if not owned_by(server.labels or {}, call.owner):
            if call.server_id is None:
                return machine_calls.DeleteSent(server_id=None)
            text = f"server {call.server_id} does not carry this pool's labels any more; delete it by hand"
            raise as_application_error(CloudFailure(cls=CloudClass.BLOCKED, code="not_ours", message=text))
        try:
            await self._projects.call(call.project, lambda client: client.servers.delete(server))
        except Failure as error:
            if error.failure.cls is not CloudClass.GONE:
                raise as_application_error(error.failure) from error
        return machine_calls.DeleteSent(server_id=server.id)

    @activity.defn(name=machine_calls.AWAIT_SERVER_GONE.name)
    async def await_server_gone(self, call: machine_calls.AwaitServerGone) -> machine_calls.ServerGone:
        """Wait until GET answers 404; an accepted delete is not a deleted server."""
        pause = self._poll_s
        async with beating(lambda: call.server_id):
            while await self._exists(call):
                await beat_for(pause)
                pause = min(pause * 1.5, LOOKS_LONGEST_S)
        return machine_calls.ServerGone(seen_at=datetime.now(UTC))

    async def _exists(self, call: machine_calls.AwaitServerGone) -> bool:
        try:
            await self._projects.call(call.project, lambda client: client.servers.get_by_id(call.server_id))
        except Failure as error:
            if error.failure.cls is CloudClass.GONE:
                return False
            raise as_application_error(error.failure) from error
        return True


def _adopted(client: Client, call: machine_calls.CreateServer) -> machine_calls.ServerSeen | None:
    server = client.servers.get_by_name(call.machine)
    if server is None:
        return None
    if not owned_by(server.labels or {}, call.owner):
        text = f"a server named {call.machine} exists and is not this pool's"
        raise Failure.of(CloudClass.INVALID, "name_taken", text)
    return _seen(server, [each for each in client.servers.get_actions(server) if each.command in _MAKING], adopted=True)


def _create(client: Client, call: machine_calls.CreateServer, user_data: str) -> machine_calls.ServerSeen:
    server_type = client.server_types.get_by_name(call.server_type)
    if server_type is None or server_type.architecture is None:
        raise Failure.of(CloudClass.INVALID, "unknown_server_type", f"there is no server type {call.server_type}")
    image = client.images.get_by_name_and_architecture(IMAGE, server_type.architecture)
    if image is None:
        raise Failure.of(
            CloudClass.INVALID, "unknown_image", f"there is no image {IMAGE} for {server_type.architecture}"
        )
    created = client.servers.create(
        name=call.machine,
        server_type=ServerType(name=call.server_type),
        image=Image(id=image.id),
        location=Location(name=call.location),
        ssh_keys=[SSHKey(id=call.ssh_key_id)],
        labels=server_labels(call.owner, call.pool, call.machine),
        user_data=user_data,
    )
    return _seen(created.server, [created.action, *(created.next_actions or [])], adopted=False)


def _unfinished(client: Client, server_id: int, action_ids: list[int]) -> list[int]:
    """Those of the actions that still run. Raises ApplicationError when one failed."""
    actions = client.request("GET", "/actions", params={"id": action_ids})["actions"]
    for action in actions:
        if action["status"] == "error":
            error = action["error"] or {}
            text = f"{action['command']} of server {server_id} failed: {error.get('message', 'no reason given')}"
            raise _came_to_nothing(error.get("code", "action_failed"), text)
    return [action["id"] for action in actions if action["status"] == "running"]


def _came_to_nothing(code: str, text: str) -> ApplicationError:
    """A server that exists and will not run: waiting longer does not help."""
    return as_application_error(CloudFailure(cls=CloudClass.UNKNOWN, code=code, message=text), final=True)


def _find(client: Client, call: machine_calls.DeleteServer) -> BoundServer | None:
    if call.server_id is None:
        return client.servers.get_by_name(call.machine)
    try:
        return client.servers.get_by_id(call.server_id)
    except APIException as error:
        if error.code == "not_found":
            return None
        raise


def _seen(server: BoundServer, actions: list[BoundAction], *, adopted: bool) -> machine_calls.ServerSeen:
    ipv4 = server.public_net.ipv4.ip if server.public_net and server.public_net.ipv4 else ""
    return machine_calls.ServerSeen(
        server_id=server.id,
        action_ids=[action.id for action in actions],
        ipv4=ipv4,
        seen_at=server.created,
        adopted=adopted,
    )


def _not_created(failure: CloudFailure) -> CloudFailure:
    """A taken name that nobody has is a listing that lags; the outcome is unknown, so look again later."""
    if failure.cls is CloudClass.EXISTS:
        return failure.model_copy(update={"cls": CloudClass.UNKNOWN})
    return failure
