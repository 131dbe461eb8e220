"""All that autoscaling looks at in a cluster: one list and watch of each kind, shared by a worker process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from activities.changes import Changes
from activities.cluster_api import ClusterApis
from activities.cluster_objects import (
    Asked,
    Change,
    Objects,
    read_budget,
    read_claim,
    read_class,
    read_replicas,
    read_volume,
    volumes_of,
)
from activities.node_cache import NodeCache, NodeCaches
from activities.node_facts import NodeFacts
from activities.reflector import Reflector
from core.autoscale.cluster import Budget
from core.autoscale.nodes import Node
from core.autoscale.pods import Pod, Volume, read_daemon, read_pod
from core.calls import ClusterRef, Health

Json = dict[str, Any]

IDLE_S = 2700.0  # a cluster that nobody decides about any more is not watched for longer
NODES_S = 300.0  # the longest time between two looks at the nodes' own cache, so that it goes on watching
PODS = "/api/v1/pods"
NODES = "/api/v1/nodes"
CONTROLLERS = {
    "ReplicationController": "/api/v1/replicationcontrollers",
    "ReplicaSet": "/apis/apps/v1/replicasets",
    "StatefulSet": "/apis/apps/v1/statefulsets",
    "Job": "/apis/batch/v1/jobs",
}


@dataclass(frozen=True)
class Parts:
    """A cluster at one moment. `working` nodes take pods; `uids` are by `pod/namespace/name` and `node/name`."""

    nodes: tuple[Node, ...]
    working: frozenset[str]
    pods: tuple[Pod, ...]
    daemons: tuple[Pod, ...]
    budgets: tuple[Budget, ...]
    controllers: Mapping[str, int]
    uids: Mapping[str, str]


@dataclass(frozen=True)
class SeenPod:
    """A pod and its UID: one that was made anew under the same name is another.

    One with claims keeps its raw form, to be read again when something else is known of them.
    """

    uid: str
    pod: Pod
    claims: frozenset[str]
    raw: Json = field(compare=False, repr=False)


class ClusterView:
    """One cluster. `generation` grows with what can change a decision, `urgent` with what may call for servers."""

    def __init__(self, apis: ClusterApis, caches: NodeCaches, cluster: ClusterRef) -> None:
        self._caches, self._cluster = caches, cluster
        self._used = time.monotonic()
        self._changes = Changes()
        self._facts: dict[str, NodeFacts] = {}
        self._volumes: dict[str, Volume] = {}
        self._parts: tuple[int, Parts] | None = None
        self.urgent = 0
        self._pods = Objects(self._read_pod, self._pods_changed)
        self._daemons = Objects(read_daemon, self._any_changed)
        self._budgets = Objects(read_budget, self._any_changed)
        self._controllers = {kind: Objects(read_replicas, self._any_changed) for kind in CONTROLLERS}
        self._claims = Objects(read_claim, self._claims_changed)
        self._persistent = Objects(read_volume, self._claims_changed)
        self._classes = Objects(read_class, self._claims_changed)
        kinds: dict[str, Objects[Any]] = {
            PODS: self._pods,
            "/apis/apps/v1/daemonsets": self._daemons,
            "/apis/policy/v1/poddisruptionbudgets": self._budgets,
            **{path: self._controllers[kind] for kind, path in CONTROLLERS.items()},
            "/api/v1/persistentvolumeclaims": self._claims,
            "/api/v1/persistentvolumes": self._persistent,
            "/apis/storage.k8s.io/v1/storageclasses": self._classes,
        }
        self._notes = dict.fromkeys((*kinds, NODES), (Health.UNKNOWN, "not looked yet"))
        self._reflectors = [self._follow(apis, path, objects) for path, objects in kinds.items()]
        self._nodes = asyncio.create_task(self._follow_nodes(), name=f"nodes for decisions on {cluster.cluster}")

    @property
    def generation(self) -> int:
        """How many changes there were that can alter a decision."""
        return self._changes.count

    @property
    def health(self) -> Health:
        """The worst health of all kinds."""
        found = {health for health, _ in self._notes.values()}
        return next((bad for bad in (Health.INVALID, Health.UNKNOWN) if bad in found), Health.VALID)

    @property
    def message(self) -> str:
        """Why the health is not Valid."""
        worst = self.health
        return next((text for health, text in self._notes.values() if health is worst and text), "")

    @property
    def synced(self) -> bool:
        """Whether everything is known as it is now."""
        return self.health is Health.VALID

    @property
    def ended(self) -> bool:
        """Whether it no longer watches."""
        return self._nodes.done() or any(reflector.ended for reflector in self._reflectors)

    def parts(self) -> Parts:
        """The cluster as it is now; it may be handed to a thread."""
        if self._parts is None or self._parts[0] != self.generation:
            self._parts = (self.generation, self._snapshot())
        return self._parts[1]

    async def wait(self, urgent: int, generation: int, longest_s: float, calm_s: float) -> None:
        """Wait until something urgent came after `urgent`; `longest_s` at most, or `calm_s` if anything else came."""
        self._used = begun = time.monotonic()
        while self.urgent == urgent:
            limit = longest_s if self.generation == generation else min(calm_s, longest_s)
            left = begun + limit - time.monotonic()
            if left <= 0:
                return
            await self._changes.wait(self.generation, left)

    async def close(self) -> None:
        """Stop watching."""
        self._nodes.cancel()
        await asyncio.gather(
            self._nodes, *(reflector.close() for reflector in self._reflectors), return_exceptions=True
        )

    def _wanted(self) -> bool:
        return time.monotonic() - self._used < IDLE_S

    def _follow(self, apis: ClusterApis, path: str, objects: Objects[Any]) -> Reflector:
        return Reflector(
            apis,
            self._cluster,
            path,
            objects,
            noted=partial(self._note, path),
            wanted=self._wanted,
            may_lack=path != PODS,
        )

    async def _follow_nodes(self) -> None:
        while self._wanted():
            cache = self._caches.of(self._cluster)
            generation = cache.generation
            self._take_nodes(cache)
            await cache.wait_change(generation, NODES_S)

    def _take_nodes(self, cache: NodeCache) -> None:
        """Nodes and what is said of them are taken together, so that none of them passes for absent meanwhile."""
        before = self._facts
        if cache.health is Health.VALID:
            self._facts = dict(cache.nodes)
        changes = [
            (before.get(name), self._facts.get(name))
            for name in {**before, **self._facts}
            if before.get(name) is not self._facts.get(name)
        ]
        if any(_seen(was) != _seen(now) for was, now in changes):
            gained = any(_gained(was, now) for was, now in changes) and self._pods_wait
            self._bump(urgent=gained or any(_lost(was, now) for was, now in changes))
        self._note(NODES, cache.health, cache.message)

    @property
    def _pods_wait(self) -> bool:
        return any(seen.pod.unschedulable and not seen.pod.node for seen in self._pods.known.values())

    def _note(self, path: str, health: Health, message: str) -> None:
        if self._notes[path] != (health, message):
            self._notes[path] = (health, message)
            self._bump()

    def _bump(self, *, urgent: bool = False) -> None:
        self.urgent += urgent
        self._changes.note()

    def _any_changed(self, changes: list[Change[Any]]) -> None:
        self._bump()

    def _pods_changed(self, changes: list[Change[SeenPod]]) -> None:
        self._bump(urgent=any(_calls_for_servers(before, after) for before, after in changes))

    def _claims_changed(self, changes: list[Change[Any]]) -> None:
        before = self._volumes
        self._volumes = volumes_of(self._claims.known, self._persistent.known, self._classes.known)
        altered = {key for key in {**before, **self._volumes} if before.get(key) != self._volumes.get(key)}
        if altered:
            self._pods.reread(lambda seen: seen if seen.claims.isdisjoint(altered) else self._read_pod(seen.raw))

    def _read_pod(self, raw: Json) -> SeenPod:
        asked = Asked(self._volumes)
        pod = read_pod(raw, asked)
        return SeenPod(raw["metadata"]["uid"], pod, frozenset(asked.claims), raw if asked.claims else {})

    def _snapshot(self) -> Parts:
        pods, facts = dict(self._pods.known), self._facts
        return Parts(
            nodes=tuple(node.shape for node in facts.values()),
            working=frozenset(name for name, node in facts.items() if node.takes_work),
            pods=tuple(seen.pod for seen in pods.values()),
            daemons=tuple(self._daemons.known.values()),
            budgets=tuple(self._budgets.known.values()),
            controllers={
                f"{kind}/{key}": replicas
                for kind, objects in self._controllers.items()
                for key, replicas in objects.known.items()
            },
            uids={
                **{f"pod/{key}": seen.uid for key, seen in pods.items()},
                **{f"node/{name}": node.uid for name, node in facts.items()},
            },
        )


class ClusterViews:
    """The views of all clusters, each started at its first use. Ask at each look: one that ended is begun anew."""

    def __init__(self, apis: ClusterApis, caches: NodeCaches) -> None:
        self._apis = apis
        self._caches = caches
        self._views: dict[tuple[str, str], ClusterView] = {}

    def of(self, cluster: ClusterRef) -> ClusterView:
        """The view of `cluster`."""
        key = (cluster.organization, cluster.cluster)
        known = self._views.get(key)
        if known is None or known.ended:
            known = self._views[key] = ClusterView(self._apis, self._caches, cluster)
        return known

    async def close(self) -> None:
        """Stop all watches."""
        for view in self._views.values():
            await view.close()
        self._views.clear()


def _calls_for_servers(before: SeenPod | None, after: SeenPod | None) -> bool:
    """Whether a pod has come to be one that no node has room for."""
    if after is None or after.pod.node or not after.pod.unschedulable:
        return False
    return before is None or before.uid != after.uid or not before.pod.unschedulable


def _seen(node: NodeFacts | None) -> tuple[str, bool, Node] | None:
    """What of a node can alter a decision."""
    return None if node is None else (node.uid, node.takes_work, node.shape)


def _gained(before: NodeFacts | None, after: NodeFacts | None) -> bool:
    """Whether a node has begun to take work: pods that still wait were not helped by it, others took its place."""
    return after is not None and after.takes_work and not (before is not None and before.takes_work)


def _lost(before: NodeFacts | None, after: NodeFacts | None) -> bool:
    """Whether a node is gone, or has stopped taking work."""
    if before is None:
        return False
    return after is None or before.uid != after.uid or (before.takes_work and not after.takes_work)
