"""All hollow nodes of a sandbox: one for each running server, kept across restarts."""

import logging
from dataclasses import dataclass
from datetime import timedelta
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import aiohttp

from sandbox.clock import Clock
from sandbox.hollow.bootstrap import Credential, Endpoint
from sandbox.hollow.machine import Fault, ServerSeen
from sandbox.hollow.node import HollowNode
from sandbox.hollow.user_data import BadUserData, parse
from sandbox.kubernetes.timing import SANDBOX, Timing
from sandbox.snapshot import Snapshot

_log = logging.getLogger(__name__)


@dataclass
class _Expected:
    """A fault that servers still to come will have: those whose name matches, so many of them."""

    pattern: str
    fault: Fault
    skew: timedelta
    left: int


class HollowNodes:
    """Boots and ends hollow nodes as servers come and go.

    `api_override` is the URL of the API server to join, whatever the user-data says; `ca_pem` is the authority
    to check a TLS server against. Use as an async context manager: inside it the nodes live.
    """

    def __init__(
        self,
        clock: Clock,
        state_dir: Path,
        timing: Timing = SANDBOX,
        api_override: str | None = None,
        ca_pem: str = "",
    ) -> None:
        self._clock = clock
        self._timing = timing
        self._override = api_override
        self._ca_pem = ca_pem
        self._nodes: dict[int, HollowNode] = {}
        self._expected: list[_Expected] = []
        self._session: aiohttp.ClientSession | None = None
        self._snapshot = Snapshot(state_dir / "hollow-nodes.json", self._dump)

    async def __aenter__(self) -> "HollowNodes":
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        for entry in (self._snapshot.load() or {}).get("nodes", []):
            self._resume(entry)
        return self

    async def __aexit__(self, *exc: object) -> None:
        for node in self._nodes.values():
            await node.stop()
        if self._session:
            await self._session.close()
        await self._snapshot.close()

    def boot(self, server: ServerSeen) -> None:
        """A server was switched on: for the first time, or again with what is on its disk."""
        known = self._nodes.get(server.server_id)
        if known:
            known.power_on()
            return
        node = self._build(server)
        if node is None:
            return
        self._nodes[server.server_id] = node
        node.fault, node.skew = self._expected_fault(server.name)
        node.power_on()
        self._snapshot.dirty()

    async def stopped(self, server_id: int) -> None:
        """A server was switched off. Its disk stays, so it needs no token to come back."""
        node = self._nodes.get(server_id)
        if node:
            await node.power_off()
            self._snapshot.dirty()

    async def gone(self, server_id: int) -> None:
        """A server was deleted. Its Node object stays: that is somebody else's to remove."""
        node = self._nodes.pop(server_id, None)
        if node:
            await node.stop()
            self._snapshot.dirty()

    def get(self, key: int | str) -> HollowNode | None:
        """A node by server id, server name or node name."""
        for server_id, node in self._nodes.items():
            if key in (server_id, node.name, node.server.name):
                return node
        return None

    def all(self) -> list[HollowNode]:
        """The nodes of all running servers."""
        return list(self._nodes.values())

    def expect(self, fault: Fault, pattern: str = "*", count: int = 1, skew: timedelta = timedelta(0)) -> None:
        """Let the next `count` servers whose name matches the glob `pattern` boot with a fault."""
        self._expected.append(_Expected(pattern, fault, skew, count))

    def _expected_fault(self, name: str) -> tuple[Fault | None, timedelta]:
        for expected in self._expected:
            if expected.left and fnmatch(name, expected.pattern):
                expected.left -= 1
                return expected.fault, expected.skew
        return None, timedelta(0)

    def _build(self, server: ServerSeen) -> HollowNode | None:
        try:
            plan = parse(server.user_data)
        except BadUserData as error:
            _log.warning("server %s boots and will not join: %s", server.name, error)
            return None
        assert self._session is not None, "use HollowNodes as a context manager"
        url = self._override or plan.server
        endpoint = Endpoint(url if "://" in url else f"https://{url}", self._ca_pem)
        return HollowNode(
            server,
            plan,
            endpoint,
            self._session,
            clock=self._clock,
            timing=self._timing,
            changed=self._snapshot.dirty,
        )

    def _resume(self, entry: dict[str, Any]) -> None:
        node = self._build(ServerSeen(**entry["server"]))
        if node is None:
            return
        node.fault = Fault(entry["fault"]) if entry["fault"] else None
        node.skew = timedelta(seconds=entry["skew"])
        node.credential = Credential(**entry["credential"]) if entry["credential"] else None
        node.registered = entry["registered"]
        node.boots = entry["boots"]
        self._nodes[node.server.server_id] = node
        if entry["running"]:
            node.resume()

    def _dump(self) -> dict[str, Any]:
        return {"nodes": [_dump_node(node) for node in self._nodes.values()]}


def _dump_node(node: HollowNode) -> dict[str, Any]:
    return {
        "server": node.server.dump(),
        "fault": node.fault,
        "skew": node.skew.total_seconds(),
        "credential": node.credential.dump() if node.credential else None,
        "registered": node.registered,
        "boots": node.boots,
        "running": node.switched_on,
    }
