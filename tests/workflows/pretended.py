"""A pretended world for workflow tests: the activities' contracts over a few dicts, with faults on demand.

It decides nothing that the product decides; it only answers what the calls ask.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from activities.temporal_lookups import TemporalLookups
from core import autoscale_calls, calls, machine_calls
from core.calls import Health
from core.cloud_errors import RETRY_BY_ITSELF, CloudClass, CloudFailure
from core.machine import Presence


class PretendedWorld:
    """Servers, nodes and tokens as dicts; `fail` makes the next calls of a name fail; `calls` counts them."""

    def __init__(self, client: Client) -> None:
        self.lookups = TemporalLookups(client)
        self.servers: dict[int, str] = {}
        self.created: list[str] = []
        self.nodes: dict[str, str] = {}
        self.labels: dict[str, dict[str, str]] = {}
        self.sizes: dict[str, calls.ServerType | None] = {}
        self.tokens: set[str] = set()
        self.keys: set[int] = set()
        self.holds: list[machine_calls.Hold] = []
        self.drains: list[tuple[str, datetime]] = []
        self.draining = 0
        self.counts: Counter[str] = Counter()
        self.failures: dict[str, list[CloudFailure]] = {}
        self.join = asyncio.Event()
        self.join.set()
        self.sync = asyncio.Event()
        self.sync.set()
        self.token = asyncio.Event()
        self.token.set()
        self.health = Health.VALID
        self.seen: dict[str, calls.MachineSeen] = {}
        self.decisions: list[autoscale_calls.Decided] = []
        self.asked: list[autoscale_calls.Autoscale] = []
        self.stays = ""
        self.impatient = False
        self.cordoned: dict[str, bool] = {}
        self.news = asyncio.Event()
        self._next = 1000

    def fail(self, name: str, cls: CloudClass, times: int = 1, message: str = "pretended") -> None:
        """Let the next `times` calls of `name` fail with `cls`."""
        self.failures.setdefault(name, []).extend(
            [CloudFailure(cls=cls, code=cls.value.lower(), message=message)] * times
        )

    def _begin(self, name: str) -> None:
        self.counts[name] += 1
        if self.failures.get(name):
            failure = self.failures[name].pop(0)
            raise ApplicationError(
                str(failure),
                failure.model_dump(mode="json"),
                type=failure.cls.value,
                non_retryable=failure.cls not in RETRY_BY_ITSELF,
            )

    def activities(self) -> list[Callable[..., Any]]:
        """The activities to register."""
        named = [
            getattr(type(self), name)
            for name in dir(type(self))
            if hasattr(getattr(type(self), name), "__temporal_activity_definition")
        ]
        bound = [getattr(self, method.__name__) for method in named]
        return [*bound, self.lookups.read_pool, self.lookups.find_ended]

    @activity.defn(name="probe_credential")
    async def probe_credential(self, call: calls.ProbeCredential) -> calls.Probe:
        self._begin("probe_credential")
        return calls.Probe(
            health=self.health, reason="unauthorized" if self.health is Health.INVALID else "", message="m"
        )

    @activity.defn(name="probe_cluster")
    async def probe_cluster(self, call: calls.ProbeCluster) -> calls.ClusterProbe:
        self._begin("probe_cluster")
        return calls.ClusterProbe(
            health=Health.VALID, version="v1.34.1+k3s1", cluster_id="cluster-uid", api_endpoint="https://10.0.0.1:6443"
        )

    @activity.defn(name="check_placement")
    async def check_placement(self, call: calls.CheckPlacement) -> calls.Placement:
        self._begin("check_placement")
        return calls.Placement(
            known_locations=["hel1", "fsn1", "ash"],
            known_types=["cx23", "cpx22"],
            sold_in=["hel1", "fsn1"],
            server=calls.ServerType(name="cx23", cores=2, memory_gb=4, disk_gb=40),
        )

    @activity.defn(name="watch_cluster")
    async def watch_cluster(self, call: calls.WatchCluster) -> calls.ClusterSeen:
        while call.known_digest == "v1":
            activity.heartbeat()
            await asyncio.sleep(0.1)
        return calls.ClusterSeen(health=Health.VALID, version="v1.34.1+k3s1", nodes=3, digest="v1")

    @activity.defn(name="watch_pool")
    async def watch_pool(self, call: calls.WatchPool) -> calls.PoolObservation:
        self._begin("watch_pool")
        while True:
            changed = {
                name: seen
                for name, known in call.machines.items()
                if (seen := self.sight(name, call)).digest != known.digest
            }
            if changed:
                return calls.PoolObservation(machines=changed, cloud=Health.VALID, api=Health.VALID)
            activity.heartbeat()
            await asyncio.sleep(0.05)

    def sight(self, name: str, call: calls.WatchPool) -> calls.MachineSeen:
        """A machine as this world shows it."""
        if name in self.seen:
            return self.seen[name]
        in_step = self.labels.get(name) == call.labels
        return calls.MachineSeen(
            server=Presence.PRESENT,
            node=Presence.PRESENT,
            ready=True,
            version="v1.34.1+k3s1",
            in_step=in_step,
            digest=f"fine-{in_step}",
        )

    @activity.defn(name="autoscale")
    async def autoscale(self, call: autoscale_calls.Autoscale) -> autoscale_calls.Decided:
        self._begin("autoscale")
        self.asked.append(call)
        while not self.decisions or self.asked[-1] is not call:  # an older question's answer would be thrown away
            activity.heartbeat()
            await asyncio.sleep(0.02)
        return self.decisions.pop(0)

    @activity.defn(name="explain")
    async def explain(self, call: autoscale_calls.Explain) -> autoscale_calls.Explanation:
        self._begin("explain")
        known = [
            autoscale_calls.Verdict(kind="node", name=name, reason="NotUnderutilized", meaning="m", message="t")
            for name in self.nodes
            if call.about.name in ("", name)
        ]
        return autoscale_calls.Explanation(verdicts=known)

    @activity.defn(name="recheck_node")
    async def recheck_node(self, call: autoscale_calls.RecheckNode) -> autoscale_calls.Rechecked:
        self._begin("recheck_node")
        return autoscale_calls.Rechecked(stays=self.stays)

    @activity.defn(name="uncordon_node")
    async def uncordon_node(self, call: autoscale_calls.UncordonNode) -> autoscale_calls.Uncordoned:
        self._begin("uncordon_node")
        self.cordoned.pop(call.machine, None)
        return autoscale_calls.Uncordoned(presence=Presence.PRESENT, undone="cordon and taint")

    @activity.defn(name="sync_nodes")
    async def sync_nodes(self, call: calls.SyncNodes) -> calls.Synced:
        self._begin("sync_nodes")
        await self.sync.wait()
        for name in call.nodes:
            self.labels[name] = dict(call.labels)
        return calls.Synced(changed=dict.fromkeys(call.nodes, "labels"))

    @activity.defn(name="count_pods")
    async def count_pods(self, call: calls.CountPods) -> calls.PodCount:
        return calls.PodCount(pods=4 * len(call.nodes))

    @activity.defn(name="ensure_key")
    async def ensure_key(self, call: calls.EnsureKey) -> calls.KeySeen:
        self._begin("ensure_key")
        self.keys.add(7)
        return calls.KeySeen(key_id=7)

    @activity.defn(name="remove_keys")
    async def remove_keys(self, call: calls.RemoveKeys) -> calls.Nothing:
        self.keys.clear()
        return calls.Nothing()

    @activity.defn(name="audit_pool")
    async def audit_pool(self, call: calls.AuditPool) -> calls.Leftovers:
        self._begin("audit_pool")
        return calls.Leftovers(
            servers=[number for number in self.servers if number in call.server_ids],
            ssh_keys=sorted(self.keys),
            nodes=sorted(self.nodes),
            bootstrap_secrets=sorted(self.tokens),
        )

    @activity.defn(name="ensure_token")
    async def ensure_token(self, call: machine_calls.EnsureToken) -> machine_calls.TokenIssued:
        self._begin("ensure_token")
        await self.token.wait()
        self.tokens.add(call.operation_id)
        return machine_calls.TokenIssued(
            token_id="abcdef", expires_at=datetime.now(UTC) + timedelta(seconds=call.ttl_s)
        )

    @activity.defn(name="revoke_token")
    async def revoke_token(self, call: machine_calls.RevokeToken) -> calls.Nothing:
        self.tokens.discard(call.operation_id)
        return calls.Nothing()

    @activity.defn(name="create_server")
    async def create_server(self, call: machine_calls.CreateServer) -> machine_calls.ServerSeen:
        self._begin("create_server")
        self._next += 1
        self.servers[self._next] = call.machine
        self.created.append(call.machine)
        self.labels[call.machine] = dict(call.labels)
        self.sizes[call.machine] = call.server
        return machine_calls.ServerSeen(
            server_id=self._next, action_ids=[1], ipv4="203.0.113.9", seen_at=datetime.now(UTC)
        )

    @activity.defn(name="await_server")
    async def await_server(self, call: machine_calls.AwaitServer) -> calls.Nothing:
        self._begin("await_server")
        return calls.Nothing()

    @activity.defn(name="await_node")
    async def await_node(self, call: machine_calls.AwaitNode) -> machine_calls.NodeSeen:
        self._begin("await_node")
        while not self.join.is_set():
            activity.heartbeat()
            await asyncio.sleep(0.05)
        self.nodes[call.machine] = f"uid-{call.machine}"
        ready = call.known_digest == "joined"
        return machine_calls.NodeSeen(
            presence=Presence.PRESENT,
            uid=self.nodes[call.machine],
            ready=ready,
            waiting_for="" if ready else "its CNI",
            version="v1.34.1+k3s1",
            digest="ready" if ready else "joined",
        )

    @activity.defn(name="cordon_node")
    async def cordon_node(self, call: machine_calls.CordonNode) -> machine_calls.Cordoned:
        self._begin("cordon_node")
        uid = self.nodes.get(call.machine)
        self.cordoned[call.machine] = call.taint
        return machine_calls.Cordoned(presence=Presence.PRESENT if uid else Presence.ABSENT, node_uid=uid)

    @activity.defn(name="drain_node")
    async def drain_node(self, call: machine_calls.DrainNode) -> machine_calls.DrainResult:
        self.drains.append((call.machine, call.deadline))
        self.draining += 1
        try:
            return await self._drain(call)
        finally:
            self.draining -= 1

    async def _drain(self, call: machine_calls.DrainNode) -> machine_calls.DrainResult:
        while True:
            if self.holds != call.known_holds:
                return machine_calls.DrainResult(outcome=machine_calls.DrainOutcome.HELD, holds=self.holds)
            if not self.holds:
                return machine_calls.DrainResult(outcome=machine_calls.DrainOutcome.DRAINED, evicted=2)
            if self.impatient or datetime.now(UTC) > call.deadline:
                return machine_calls.DrainResult(outcome=machine_calls.DrainOutcome.TIMED_OUT, holds=self.holds)
            activity.heartbeat()
            await asyncio.sleep(0.05)

    @activity.defn(name="delete_server")
    async def delete_server(self, call: machine_calls.DeleteServer) -> machine_calls.DeleteSent:
        self._begin("delete_server")
        found = [number for number, name in self.servers.items() if call.server_id == number or name == call.machine]
        for number in found:
            del self.servers[number]
        return machine_calls.DeleteSent(server_id=found[0] if found else call.server_id)

    @activity.defn(name="await_server_gone")
    async def await_server_gone(self, call: machine_calls.AwaitServerGone) -> machine_calls.ServerGone:
        return machine_calls.ServerGone(seen_at=datetime.now(UTC))

    @activity.defn(name="reap_node")
    async def reap_node(self, call: machine_calls.ReapNode) -> machine_calls.Reaped:
        return machine_calls.Reaped(removed=self.nodes.pop(call.machine, None) is not None)
