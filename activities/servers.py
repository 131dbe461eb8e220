"""One machine's server: created or adopted, seen running, deleted, seen gone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
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
from activities.images import Images
from activities.project import Projects
from activities.server_polls import ServerPolls
from activities.vault import Vault
from core import calls, machine_calls
from core.cloud_errors import CloudClass, CloudFailure
from core.ownership import owned_by, server_labels

USER_DATA_MAX = 32 * 1024  # bytes, the API's limit
OFF_LOOKS = 3  # in a row, after its actions: a server passes through `off` on its way up
DELETES_KEPT = 1000  # ids of running delete actions; who does not find one here asks for its server instead

# The actions that bring a server up; who adopts one did not hear their ids and asks for them.
_MAKING = ("create_server", "start_server")

# After these the create may have been carried out: look before anything else.
_LOOK_AGAIN = (CloudClass.UNKNOWN, CloudClass.BUSY, CloudClass.EXISTS)
# The cloud may find these before it finds that the name is taken: they do not say that no server was made before.
_HIDE_A_TAKEN_NAME = (CloudClass.STOCK, CloudClass.QUOTA)
_WRONG_IMAGE = (CloudClass.INVALID, CloudClass.GONE)


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
        self._polls = ServerPolls(self._projects, poll_s)
        self._images = Images(self._projects)
        self._user_data = user_data
        self._deletes: dict[int, int] = {}  # the delete actions that this process began, by server

    @activity.defn(name=machine_calls.CREATE_SERVER.name)
    @beaten
    async def create_server(self, call: machine_calls.CreateServer) -> machine_calls.ServerSeen:
        """Create the server; the one that an earlier attempt made is adopted, never made twice.

        A first attempt needs no look-up before it: names are unique in a project, so the create of a name that
        exists is refused and leads to one.
        """
        looked = activity.info().attempt > 1
        if looked and (known := await self._adoptable(call)) is not None:
            return known
        user_data = await self._user_data(call)
        if len(user_data.encode()) > USER_DATA_MAX:
            failure = CloudFailure(
                cls=CloudClass.INVALID, code="user_data_too_long", message="user-data is over 32 KiB"
            )
            raise as_application_error(failure)
        try:
            return await self._made(call, user_data)
        except Failure as error:
            look_again = _LOOK_AGAIN if looked else (*_LOOK_AGAIN, *_HIDE_A_TAKEN_NAME)
            if error.failure.cls not in look_again:
                raise as_application_error(error.failure) from error
            known = await self._adoptable(call)
            if known is not None:
                return known
            raise as_application_error(_not_created(error.failure)) from error

    async def _made(self, call: machine_calls.CreateServer, user_data: str) -> machine_calls.ServerSeen:
        """The new server. Raises Failure."""
        image_id = await self._images.of(call.project, call.server_type)
        try:
            return await self._projects.call(call.project, lambda client: _create(client, call, image_id, user_data))
        except Failure as error:
            if error.failure.cls not in _WRONG_IMAGE:
                raise
            # An image is replaced by a newer one of its name now and then, and the id was not asked for just now.
            other_id = await self._images.other(call.project, call.server_type, image_id)
            if other_id is None:
                raise
        return await self._projects.call(call.project, lambda client: _create(client, call, other_id, user_data))

    async def _adoptable(self, call: machine_calls.CreateServer) -> machine_calls.ServerSeen | None:
        """The machine's server if it exists. Raises ApplicationError when the name is somebody else's."""
        return await self._projects.run(call.project, lambda client: _adopted(client, call))

    @activity.defn(name=machine_calls.AWAIT_SERVER.name)
    async def await_server(self, call: machine_calls.AwaitServer) -> calls.Nothing:
        """Wait for the actions and then for the server to run, in looks that all who wait in the project share."""
        async with beating(lambda: call.server_id):
            try:
                await self._seen_running(call)
            except Failure as error:
                raise as_application_error(error.failure) from error
        return calls.Nothing()

    async def _seen_running(self, call: machine_calls.AwaitServer) -> None:
        pauses, off_looks = self._polls.pauses(), 0
        failed = await self._polls.ended(call.project, call.action_ids, pauses)
        if failed is not None:
            raise _came_to_nothing(failed.code, f"{failed.command} of server {call.server_id} failed: {failed.message}")
        while (status := await self._polls.status(call.project, call.server_id)) != Server.STATUS_RUNNING:
            off_looks = off_looks + 1 if status == Server.STATUS_OFF else 0
            if off_looks == OFF_LOOKS:
                raise _came_to_nothing("off", f"server {call.server_id} stayed off after it was started")
            await beat_for(next(pauses))

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
            action = await self._projects.call(call.project, lambda client: client.servers.delete(server))
        except Failure as error:
            if error.failure.cls is not CloudClass.GONE:
                raise as_application_error(error.failure) from error
        else:
            self._deletes[int(server.id or 0)] = action.id
            self._forget_oldest()
        return machine_calls.DeleteSent(server_id=server.id)

    @activity.defn(name=machine_calls.AWAIT_SERVER_GONE.name)
    async def await_server_gone(self, call: machine_calls.AwaitServerGone) -> machine_calls.ServerGone:
        """Wait until GET answers 404; an accepted delete is not a deleted server, nor is one whose action ended."""
        pauses = self._polls.pauses()
        async with beating(lambda: call.server_id):
            await self._deleted(call, pauses)
            while await self._exists(call):
                await beat_for(next(pauses))
        self._deletes.pop(call.server_id, None)
        return machine_calls.ServerGone(seen_at=datetime.now(UTC))

    async def _deleted(self, call: machine_calls.AwaitServerGone, pauses: Iterator[float]) -> None:
        """Wait for the delete's action where this process began it. Whatever is heard of it proves nothing."""
        action_id = self._deletes.get(call.server_id)
        if action_id is not None:
            with suppress(Failure):
                await self._polls.ended(call.project, [action_id], pauses)

    def _forget_oldest(self) -> None:
        if len(self._deletes) > DELETES_KEPT:
            del self._deletes[next(iter(self._deletes))]

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


def _create(
    client: Client, call: machine_calls.CreateServer, image_id: int, user_data: str
) -> machine_calls.ServerSeen:
    created = client.servers.create(
        name=call.machine,
        server_type=ServerType(name=call.server_type),
        image=Image(id=image_id),
        location=Location(name=call.location),
        ssh_keys=[SSHKey(id=call.ssh_key_id)],
        labels=server_labels(call.owner, call.pool, call.machine),
        user_data=user_data,
    )
    return _seen(created.server, [created.action, *(created.next_actions or [])], adopted=False)


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
