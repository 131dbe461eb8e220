"""One hollow node: boots, joins, keeps its lease and status, runs pods; and misbehaves when told to."""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import aiohttp

from sandbox.clock import Clock
from sandbox.hollow.api import STRATEGIC, NodeApi, Refused
from sandbox.hollow.bootstrap import Credential, Endpoint, JoinFailed, obtain
from sandbox.hollow.machine import SILENT, Fault, ServerSeen
from sandbox.hollow.pods import PodRunner
from sandbox.hollow.registration import NO_NETWORK, UNHEALTHY, conditions, moved, node_object, node_status
from sandbox.hollow.user_data import JoinPlan
from sandbox.kubernetes.timing import Timing

_log = logging.getLogger(__name__)
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_TROUBLE = (Refused, JoinFailed, aiohttp.ClientError, TimeoutError, ConnectionError)


class HollowNode:
    """The kubelet of one server, which does nothing until it is switched on."""

    def __init__(
        self,
        server: ServerSeen,
        plan: JoinPlan,
        endpoint: Endpoint,
        session: aiohttp.ClientSession,
        *,
        clock: Clock,
        timing: Timing,
        changed: Callable[[], None],
    ) -> None:
        self.server = server
        self.plan = plan
        self.name = plan.node_name or server.name
        self.fault: Fault | None = None
        self.skew = timedelta(0)
        self.credential: Credential | None = None
        self.registered = False
        self.boots = 0
        self.switched_on = False
        self.trouble = ""
        self._endpoint = endpoint
        self._session = session
        self._clock = clock
        self._timing = timing
        self._changed = changed
        self._task: asyncio.Task[None] | None = None
        self._ready_at: datetime | None = None

    def power_on(self, after: float = 0.0) -> None:
        """Boot, `after` seconds from now. What runs already goes on running."""
        if not self.running:
            self.boots += 1
            self.switched_on = True
            self._ready_at = None
            self._begin(after + self._timing.boot)

    def resume(self) -> None:
        """Go on where the sandbox left off: the machine never stopped."""
        if not self.running:
            self.switched_on = True
            if self.registered:
                self._ready_at = self._ready_at or self._clock.now()
            self._begin(0.0 if self.credential else self._timing.boot)

    @property
    def running(self) -> bool:
        """Whether it works at this moment; a frozen machine is switched on and does not."""
        return self._task is not None and not self._task.done()

    def _begin(self, after: float) -> None:
        self._task = asyncio.get_running_loop().create_task(self._live(after))

    async def power_off(self) -> None:
        """Switch off; what is on the disk stays."""
        self.switched_on = False
        await self.stop()

    async def stop(self) -> None:
        """Stop working, at once."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def set_fault(self, fault: Fault | None, skew: timedelta = timedelta(0)) -> None:
        """Misbehave from now on, or behave again."""
        self.fault, self.skew = fault, skew
        await self.stop()
        if fault is Fault.REBOOTED:
            self.fault = None
            self.power_on(self._timing.reboot)
        elif fault not in SILENT:
            self.resume()
        self._changed()

    def now(self) -> datetime:
        """The time as this machine sees it."""
        return self._clock.now() + self.skew

    async def _live(self, after: float) -> None:
        if self.fault in SILENT:
            return
        await self._clock.sleep(after)
        if self.credential is None:
            await self._clock.sleep(self._timing.join)
            await self._insist(self._join)
        assert self.credential is not None
        api = self._endpoint.as_node(self._session, self.credential)
        if not self.registered:
            await self._insist(lambda: self._register(api))
        self._ready_at = self._ready_at or self._clock.now() + timedelta(seconds=self._timing.network)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_lease(api))
            group.create_task(self._keep_status(api))
            group.create_task(self._run_pods(api))

    async def _insist(self, step: Callable[[], Any]) -> None:
        """Try a step until it succeeds, as systemd restarts an agent that fails to join."""
        while True:
            try:
                await step()
            except _TROUBLE as error:
                self.trouble = str(error)
                _log.info("%s: %s", self.name, error)
                await self._clock.sleep(max(self._timing.join, 0.1))
            else:
                self.trouble = ""
                self._changed()
                return

    async def _join(self) -> None:
        self.credential = await obtain(
            self._session, self._endpoint, self.plan, self.name, now=self.now(), sleep=self._clock.sleep
        )

    async def _register(self, api: NodeApi) -> None:
        """Create the Node; one of that name that is there already is taken over, as kubelets do."""
        version = self.plan.version or (await api.call("GET", "/version"))["gitVersion"]
        first = moved([], conditions(NO_NETWORK, self.now()), self.now())
        status = node_status(self.server, self.plan, self.name) | {"conditions": first}
        node = node_object(self.server, self.plan, self.name, version, status)
        node["status"]["nodeInfo"]["bootID"] = self._boot_id()
        try:
            await api.call("POST", "/api/v1/nodes", node)
        except Refused as error:
            if error.code != 409:
                raise
            await api.call("PATCH", f"/api/v1/nodes/{self.name}/status", {"status": node["status"]}, STRATEGIC)
        self.registered = True

    async def _keep_lease(self, api: NodeApi) -> None:
        while True:
            try:
                await self._renew(api)
            except _TROUBLE as error:
                self.trouble = str(error)
            await self._clock.sleep(self._timing.lease_renew)

    async def _renew(self, api: NodeApi) -> None:
        """Renew the lease, or create it. Without its Node a kubelet does not, and only logs that."""
        beat = f"{self.now():%Y-%m-%dT%H:%M:%S.%fZ}"
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": self._timing.lease_duration, "renewTime": beat}
        try:
            merge = "application/merge-patch+json"
            await api.call("PATCH", f"{_LEASES}/{self.name}", {"spec": spec}, merge)
        except Refused as error:
            if error.code != 404:
                raise
            node = await api.call("GET", f"/api/v1/nodes/{self.name}")
            owner = {"apiVersion": "v1", "kind": "Node", "name": self.name, "uid": node["metadata"]["uid"]}
            metadata = {"name": self.name, "namespace": "kube-node-lease", "ownerReferences": [owner]}
            await api.call("POST", _LEASES, {"metadata": metadata, "spec": spec})

    async def _keep_status(self, api: NodeApi) -> None:
        """Report the status when the Node shows another one, and every few minutes anyway."""
        reported = self._clock.now() - timedelta(days=1)
        while True:
            due = self._clock.now() - reported >= timedelta(seconds=self._timing.heartbeat)
            try:
                if await self._report_status(api, due=due):
                    reported = self._clock.now()
            except _TROUBLE as error:
                self.trouble = str(error)
            await self._clock.sleep(self._pause())

    async def _report_status(self, api: NodeApi, *, due: bool) -> bool:
        """Compare with what the Node shows, not with what was last sent: others write there too."""
        path = f"/api/v1/nodes/{self.name}"
        shown = (await api.call("GET", f"{path}?resourceVersion=0"))["status"].get("conditions") or []
        wanted = moved(shown, conditions(self._why_not_ready(), self.now()), self.now())
        before = {condition["type"]: condition["status"] for condition in shown}
        if not due and all(before.get(each["type"]) == each["status"] for each in wanted):
            return False
        patch = {"status": {"conditions": wanted, "nodeInfo": {"bootID": self._boot_id()}}}
        await api.call("PATCH", f"{path}/status", patch, STRATEGIC)
        return True

    def _pause(self) -> float:
        """Seconds until the next look at the node's own state."""
        left = (self._ready_at - self._clock.now()).total_seconds() if self._ready_at else 0.0
        return left if 0 < left < self._timing.lease_renew else self._timing.lease_renew

    def _boot_id(self) -> str:
        return str(uuid5(NAMESPACE_OID, f"{self.server.server_id}/{self.boots}"))

    def _why_not_ready(self) -> str:
        now = self._clock.now()
        if self.fault is Fault.NO_NETWORK or (self._ready_at and now < self._ready_at):
            return NO_NETWORK
        if self.fault is Fault.FLAPPING and int(now.timestamp() // self._timing.flap) % 2:
            return UNHEALTHY
        return UNHEALTHY if self.fault is Fault.NOT_READY else ""

    async def _run_pods(self, api: NodeApi) -> None:
        while True:
            try:
                await PodRunner(api, self.name, self.server.public_ip, self._clock, self._timing).run()
            except _TROUBLE as error:
                self.trouble = str(error)
            await self._clock.sleep(min(1.0, self._timing.lease_renew))
