"""Clusters for the property tests: small ones, in which most rules meet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from core.autoscale.cluster import Cluster, Pool
from core.autoscale.nodes import Node
from core.autoscale.pods import Pod
from core.labels import Effect, Taint
from tests.unit.autoscale.builders import BACKOFF, IN_FSN1, IN_HEL1, REQUIRED, cluster, daemon, node, pod, pool

APPS = ("web", "db")
TAINT = Taint(key="dedicated", effect=Effect.NO_SCHEDULE)
CLAIM = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


def _rules(app: str) -> list[dict[str, Any]]:
    selector = {"matchLabels": {"app": app}}
    hostname = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
    return [
        *[{}] * 8,
        {"nodeSelector": {"disk": "ssd"}},
        {"tolerations": [{"operator": "Exists"}]},
        {"ports": (80,)},
        {"topologySpreadConstraints": [{**hostname, "maxSkew": 1}]},
        {"affinity": {"podAntiAffinity": {REQUIRED: [hostname]}}},
        {"volumes": CLAIM, "volumes_of": {"default/data": IN_HEL1}},
        {"volumes": CLAIM, "volumes_of": {"default/data": IN_FSN1}},
        {"topologySpreadConstraints": [{**hostname, "topologyKey": "zone", "maxSkew": 1}]},
        {"priority": -20},
        {"priority": 10},
    ]


@st.composite
def pod_groups(draw: st.DrawFn, name: str, most: int = 6, cpu: int = 30) -> tuple[Pod, ...]:
    """Equal pods that wait, each of at most `cpu` tenths of a core."""
    app = draw(st.sampled_from(APPS))
    requests = {
        "cpu": f"{draw(st.integers(0, cpu)) * 100}m",
        "memory": f"{draw(st.integers(0, cpu)) * 250}Mi",
    }
    one = pod(name, requests, labels={"app": app}, owner=f"ReplicaSet/{name}", **draw(st.sampled_from(_rules(app))))
    return tuple(replace(one, name=f"{name}-{number}") for number in range(draw(st.integers(1, most))))


@st.composite
def pools(draw: st.DrawFn, name: str) -> Pool:
    """A pool, with any of its own facts, that is not above its max."""
    low = draw(st.integers(0, 2))
    high = draw(st.integers(max(1, low), 8))
    target = draw(st.integers(low, min(high, 5)))
    booting = draw(st.integers(0, min(1, target)))
    return pool(
        name,
        low=low,
        high=high,
        target=target,
        booting=booting,
        missing=draw(st.integers(0, min(1, target - booting))),
        location=draw(st.sampled_from(("hel1", "fsn1"))),
        labels=draw(st.sampled_from(({}, {"disk": "ssd"}))),
        taints=draw(st.sampled_from(([], [], [], [TAINT]))),
        paused=draw(st.sampled_from((False,) * 6 + (True,))),
        backoff=draw(st.sampled_from((None,) * 4 + (BACKOFF,))),
        sizes=draw(st.sampled_from(({}, {"cpu": "8", "memory": "16Gi"}, {"pods": "3"}))),
    )


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """A cluster of a few pools, each with the nodes that its target says, and pods on nodes and without one."""
    made = [draw(pools(name)) for name in "abc"[: draw(st.integers(1, 3))]]
    nodes: list[Node] = [node("robot")] if draw(st.booleans()) else []
    for one in made:
        ready = one.target - one.booting - one.missing
        nodes += [
            _as_node(one, f"{one.spec.name}{n}", draw(st.sampled_from((True,) * 5 + (False,)))) for n in range(ready)
        ]
    waiting = [p for n in range(draw(st.integers(0, 4))) for p in draw(pod_groups(f"w{n}"))]
    bound: list[Pod] = []
    if nodes:
        for number in range(draw(st.integers(0, 4))):
            for p in draw(pod_groups(f"b{number}", 3, 12)):
                bound.append(replace(p, node=draw(st.sampled_from(nodes)).name, unschedulable=False))
    daemons = (daemon("logs", {"cpu": "100m"}),) if draw(st.booleans()) else ()
    controllers = {f"ReplicaSet/default/{p.name.rpartition('-')[0]}": 3 for p in bound}
    return cluster(tuple(made), (*waiting, *bound), nodes=tuple(nodes), daemons=daemons, controllers=controllers)


def _as_node(one: Pool, name: str, schedulable: bool) -> Node:
    labels = {**one.template.labels, "kubernetes.io/hostname": name}
    return replace(one.template, name=name, labels=labels, unschedulable=not schedulable)


@st.composite
def shuffled(draw: st.DrawFn, seen: Cluster) -> Cluster:
    """The same cluster, listed in another order."""
    return replace(
        seen,
        nodes=tuple(draw(st.permutations(seen.nodes))),
        pods=tuple(draw(st.permutations(seen.pods))),
        pools=tuple(draw(st.permutations(seen.pools))),
    )
