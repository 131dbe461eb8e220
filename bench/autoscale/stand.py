"""A sandbox to measure in: pods go in as `kubectl` would put them, and both simulators are read past the product."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import ssl
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from core.autoscale_calls import AUTOSCALE
from core.errors import PoolsError
from core.names import cluster_workflow_id, pool_workflow_id
from sandbox.hetzner.records import Limits
from sandbox.launcher import Sandbox
from sandbox.layout import CLUSTER, ORGANIZATION, ClusterKind, Layout

CREDENTIAL, LOCATION = "hetzner-prod", "hel1"
LOOK_S = 0.05
TRIES = 3
SETTLE_S = 3.0  # until the lists that a watch begins with are read, on two cores
# What of a project's limits would otherwise end a measurement: a hundred servers, and an hour's requests.
LIMITS = Limits(servers=1000, primary_ips=2000, requests_per_hour=100_000)
PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
Found = TypeVar("Found")


@dataclass(frozen=True)
class Request:
    """A request that the simulated cloud noted."""

    at: datetime
    method: str
    route: str
    status: int


class Stand:
    """A running sandbox."""

    def __init__(self, box: Sandbox, session: aiohttp.ClientSession, client: Client) -> None:
        self.box, self.client = box, client
        facts = box.facts()
        self.cloud = str(facts["hetzner"])
        tokens = facts["tokens"]
        assert isinstance(tokens, dict)
        self.token: str = tokens["read_write"]
        self._session = session
        self._levers = self.cloud.removesuffix("/v1") + "/_sandbox/hetzner"
        kubeconfig = json.loads(box.layout.kubeconfig.read_text())
        cluster = kubeconfig["clusters"][0]["cluster"]
        self.server: str = cluster["server"]
        self.authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._tls = ssl.create_default_context(cadata=self.authority)
        self._headers = {"Authorization": f"Bearer {kubeconfig['users'][0]['user']['token']}"}

    async def lbr(self, *words: str, typed: str = "") -> str:
        """Run `lbr`. Raises PoolsError when it fails."""
        done = await asyncio.to_thread(self.box.lbr, *words, typed=typed)
        if done.returncode != 0:
            raise PoolsError(f"`lbr {' '.join(words)}` failed: {done.stderr.strip()}")
        return done.stdout

    async def pool(self, name: str, server_type: str, *, low: int = 0, high: int) -> None:
        """Create a pool whose nodes say so in the label `pool`."""
        where = ("--credential", CREDENTIAL, "--location", LOCATION, "--server-type", server_type)
        bounds = ("--min", str(low), "--max", str(high), "--label", f"pool={name}")
        await self.lbr("cp", "pool", "create", CLUSTER, name, *where, *bounds)

    async def watched(self, pools: int) -> None:
        """Wait until the autoscaler watches for so many pools, whose server types it knows."""
        await self.until(f"{pools} pools are watched", lambda: self._watches(pools), 30)
        await asyncio.sleep(SETTLE_S)

    async def _watches(self, pools: int) -> bool:
        handle = self.client.get_workflow_handle(cluster_workflow_id(ORGANIZATION, CLUSTER))
        known = 0
        async for event in handle.fetch_history_events():
            asked = event.activity_task_scheduled_event_attributes
            if asked.activity_type.name == AUTOSCALE.name:
                standings = json.loads(asked.input.payloads[0].data)["standings"]
                known = sum(standing["server"] is not None for standing in standings)
        return known == pools

    async def credential(self) -> None:
        """Store the simulated project's token."""
        await self.lbr("cloud-credential", "create", CREDENTIAL, "--token", "-", typed=self.token)

    async def end_worker(self) -> None:
        """Let the worker end by itself: Temporal would still give tasks to one that was killed."""
        os.kill(self.box.processes.running()["worker"], signal.SIGTERM)

        async def gone() -> bool:
            return "worker" not in self.box.processes.running()

        await self.until("the worker ends", gone, 60)

    async def kubernetes(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Ask the cluster as its administrator."""
        url = self.server + path
        async with self._session.request(method, url, json=body, headers=self._headers, ssl=self._tls) as answer:
            answer.raise_for_status()
            found: dict[str, Any] = await answer.json()
            return found

    async def lever(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Use one of the simulated cloud's levers."""
        async with self._session.request(method, self._levers + path, json=body) as answer:
            answer.raise_for_status()
            found: dict[str, Any] = await answer.json() if answer.status == 200 else {}
            return found

    async def requests(self, method: str = "*", path: str = "*") -> list[Request]:
        """What the simulated cloud was asked since the log was last cleared."""
        found = (await self.lever("GET", f"/requests?method={method}&path={path}"))["requests"]
        return [Request(datetime.fromisoformat(r["at"]), r["method"], r["route"], r["status"]) for r in found]

    async def orders(self) -> list[Request]:
        """The servers that were bought."""
        return [request for request in await self.requests("POST", "/servers") if request.status == 201]

    async def create_pods(self, pods: Collection[Mapping[str, Any]]) -> datetime:
        """Create pods at once. Returns when the first of them was about to be."""
        at = datetime.now(UTC)
        await asyncio.gather(*(self.kubernetes("POST", PODS, pod) for pod in pods))
        return at

    async def all_run(self, count: int, seconds: float) -> None:
        """Wait until so many pods run. Raises PoolsError at the deadline.

        By a watch: lists at short intervals would take a good part of the machine from what is measured.
        """
        running: set[str] = set()
        try:
            async with asyncio.timeout(seconds):
                while len(running) < count:
                    running = set()
                    async for pod in self._pods():
                        if pod["status"].get("phase") == "Running":
                            running.add(pod["metadata"]["name"])
                        if len(running) == count:
                            break
        except TimeoutError:
            said = end_of(self.box.layout.log("worker"))
            text = f"{len(running)} of {count} pods run after {seconds:g} s"
            raise PoolsError(text, hint=f"the worker said: {said}") from None

    async def _pods(self) -> AsyncIterator[dict[str, Any]]:
        """The pods there are, and each again as it changes, until the server ends the watch."""
        url = f"{self.server}{PODS}?watch=1"
        forever = aiohttp.ClientTimeout(total=None)
        async with self._session.get(url, headers=self._headers, ssl=self._tls, timeout=forever) as answer:
            answer.raise_for_status()
            async for line in answer.content:
                yield json.loads(line)["object"]

    async def ready(self) -> int:
        """How many nodes are Ready."""
        nodes = (await self.kubernetes("GET", NODES))["items"]
        return sum(_ready(node) for node in nodes)

    async def until(self, what: str, look: Callable[[], Awaitable[Found]], seconds: float) -> Found:
        """Wait until `look` finds something. Raises PoolsError at the deadline, with the end of the worker's log."""
        end = time.monotonic() + seconds
        while not (found := await look()):
            if time.monotonic() > end:
                said = end_of(self.box.layout.log("worker"))
                raise PoolsError(f"{what}: not within {seconds:g} s", hint=f"the worker said: {said}")
            await asyncio.sleep(LOOK_S)
        return found

    async def orders_to(self, pool: str) -> list[dict[str, Any]]:
        """The orders that the autoscaler gave to a pool, over all runs of its workflow."""
        workflow_id = pool_workflow_id(ORGANIZATION, CLUSTER, pool)
        orders = []
        async for run in self.client.list_workflows(f"WorkflowId = '{workflow_id}'"):
            handle = self.client.get_workflow_handle(workflow_id, run_id=run.run_id)
            async for event in handle.fetch_history_events():
                told = event.workflow_execution_signaled_event_attributes
                if told.signal_name == "autoscale":
                    orders.append(json.loads(told.input.payloads[0].data))
        return orders


@asynccontextmanager
async def sandbox(kind: ClusterKind, *, served: bool = True) -> AsyncIterator[Stand]:
    """A fresh sandbox, gone at the end: furnished, with a stored credential. One that is not `served` has neither.

    Its worker has ended: another serves it, or nothing of ours is at work in its world.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        box = await asyncio.to_thread(_started, Path(folder), kind, served)
        try:
            temporal = str(box.facts()["temporal_address"])
            client = await Client.connect(temporal, data_converter=pydantic_data_converter)
            async with aiohttp.ClientSession() as session:
                stand = Stand(box, session, client)
                await stand.lever("PUT", "/projects/demo/limits", LIMITS.model_dump())
                if served:
                    await stand.credential()
                else:
                    await stand.end_worker()
                yield stand
        finally:
            await asyncio.to_thread(box.down)


def _started(folder: Path, kind: ClusterKind, furnished: bool) -> Sandbox:
    """A sandbox that is up, at the second or third try if need be: a port that was free may be taken meanwhile."""
    for attempt in range(1, TRIES + 1):
        box = Sandbox(Layout(folder / str(attempt)), cluster=kind)
        try:
            box.up(furnished=furnished)
        except PoolsError as error:
            logs = sorted((box.layout.root / "logs").iterdir())  # they go with the folder
            said = "\n".join(f"{log.name}: {end_of(log)}" for log in logs)
            box.down()
            if attempt == TRIES:
                raise PoolsError(error.message, hint=said) from error
            print(f"{error.message}; once more\n{said}", file=sys.stderr)
        else:
            return box
    raise AssertionError("the last try either returns or raises")


def end_of(log: Path) -> str:
    """The last that a process said."""
    return log.read_text()[-2000:] if log.exists() else ""


def pod(name: str, cpu: str, memory: str = "64Mi", *, pool: str = "") -> dict[str, Any]:
    """A pod that asks for so much; of a named pool's nodes if one is named."""
    requests = {"requests": {"cpu": cpu, "memory": memory}}
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "bench:1", "resources": requests}]}
    if pool:
        spec["nodeSelector"] = {"pool": pool}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "bench"}}, "spec": spec}


def _ready(node: Mapping[str, Any]) -> bool:
    conditions = node["status"].get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
