"""What servers that come up or go are asked for, many at once: their actions, and whether they run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hcloud import APIException, Client

from activities.beating import beat_for
from activities.failures import Failure
from activities.project import Projects
from activities.shared_polls import SharedPolls
from core.calls import ProjectRef
from core.cloud_errors import CloudClass
from core.ownership import managed_selector

PAGE = 50  # the API's longest page; as many ids make a query of a thousand characters
LONGEST_S = 5.0
_ANY_NUMBER = 1_000_000


@dataclass(frozen=True)
class ActionSeen:
    """An action as a look showed it; `code` and `message` say why it failed."""

    id: int
    command: str
    running: bool
    failed: bool
    code: str
    message: str


class ServerPolls:
    """Looks at the servers of all projects. `poll_s` is the first pause between two looks, and the time of a round."""

    def __init__(self, projects: Projects, poll_s: float) -> None:
        self._projects = projects
        self._poll_s = poll_s
        self._actions = SharedPolls(self._ask_actions, poll_s, PAGE)
        # However many servers: the newest pages of one list show them all.
        self._statuses = SharedPolls(self._ask_statuses, poll_s, _ANY_NUMBER)

    def pauses(self) -> Iterator[float]:
        """Seconds between looks, longer each time."""
        pause = self._poll_s
        while True:
            yield pause
            pause = min(pause * 1.5, LONGEST_S)

    async def ended(self, project: ProjectRef, action_ids: list[int], pauses: Iterator[float]) -> ActionSeen | None:
        """Wait until each action ended, or one failed: that one is returned. Raises Failure.

        An action that the API knows nothing of has ended.
        """
        waiting = action_ids
        while waiting:
            seen = (await self._actions.look(project, waiting)).values()
            for action in seen:
                if action.failed:
                    return action
            waiting = [action.id for action in seen if action.running]
            if waiting:
                await beat_for(next(pauses))
        return None

    async def status(self, project: ProjectRef, server_id: int) -> str:
        """The server's status. Raises Failure, of class Gone when there is no such server."""
        found = await self._statuses.look(project, [server_id])
        if server_id not in found:
            raise Failure.of(CloudClass.GONE, "not_found", f"server {server_id} does not exist")
        return found[server_id]

    async def _ask_actions(self, project: ProjectRef, ids: list[int]) -> dict[int, ActionSeen]:
        return await self._projects.call(project, lambda client: _actions(client, ids))

    async def _ask_statuses(self, project: ProjectRef, ids: list[int]) -> dict[int, str]:
        return await self._projects.call(project, lambda client: _statuses(client, ids))


def _actions(client: Client, ids: list[int]) -> dict[int, ActionSeen]:
    found = {}
    for action in client.request("GET", "/actions", params={"id": ids})["actions"]:
        error = action["error"] or {}
        found[action["id"]] = ActionSeen(
            id=action["id"],
            command=action["command"],
            running=action["status"] == "running",
            failed=action["status"] == "error",
            code=error.get("code", "action_failed"),
            message=error.get("message", "no reason given"),
        )
    return found


def _statuses(client: Client, ids: list[int]) -> dict[int, str]:
    """The status of each server; one that is left out is not there: its GET answered 404."""
    found = _newest(client, set(ids)) if len(ids) > 1 else {}
    for server_id in ids:
        if server_id not in found:
            try:
                found[server_id] = client.servers.get_by_id(server_id).status or ""
            except APIException as error:
                if error.code != "not_found":
                    raise
    return found


def _newest(client: Client, wanted: set[int]) -> dict[int, str]:
    """Those of `wanted` that the newest pages of our servers show: what comes up was made a moment ago."""
    found: dict[int, str] = {}
    page: int | None = 1
    while page is not None and len(found) < len(wanted):
        params = {"label_selector": managed_selector(), "sort": "id:desc", "page": page, "per_page": PAGE}
        answer = client.request("GET", "/servers", params=params)
        here = {server["id"]: server["status"] for server in answer["servers"] if server["id"] in wanted}
        if not here.keys() - found.keys():
            break
        found |= here
        page = answer["meta"]["pagination"]["next_page"]
    return found
