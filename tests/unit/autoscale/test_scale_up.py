"""Which pools grow by how many servers, and what each pod is told: a table of what goes wrong in the field."""

from __future__ import annotations

from typing import Any

import pytest

from core.autoscale.board import Board
from core.autoscale.cluster import Cluster
from core.autoscale.nodes import Node
from core.autoscale.pods import Pod, Volume
from core.autoscale.reasons import PodReason
from core.autoscale.scale_up import ScaleUp
from core.labels import Effect, Taint
from tests.unit.autoscale.builders import (
    BACKOFF,
    IN_FSN1,
    IN_HEL1,
    NOW,
    REQUIRED,
    cluster,
    daemon,
    node,
    pod,
    pods,
    pool,
)

R = PodReason
BATCH = Taint(key="dedicated", value="batch", effect=Effect.NO_SCHEDULE)
TOLERATES_BATCH = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}]
CLAIM = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
BIG = {"cpu": "8", "memory": "16Gi"}


def spread(skew: int = 1, **rest: Any) -> list[dict[str, Any]]:
    selector = {"matchLabels": {"app": "web"}}
    return [{"topologyKey": "kubernetes.io/hostname", "maxSkew": skew, "labelSelector": selector, **rest}]


def apart(key: str = "kubernetes.io/hostname") -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}}
    return {"podAntiAffinity": {REQUIRED: [term]}}


def wants(key: str, operator: str, *values: str) -> dict[str, Any]:
    need = {"key": key, "operator": operator, "values": list(values)}
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [need]}]}}}


def claiming(volume: Volume | None) -> Pod:
    return pod(volumes=CLAIM, volumes_of={"default/data": volume} if volume else {})


def full(name: str, of: str = "", **rest: Any) -> tuple[Node, Pod]:
    """A node, and a pod that takes all of it."""
    return node(name, of, **rest), pod(f"on-{name}", {"cpu": "4"}, node=name)


def on(*pairs: tuple[Node, Pod], waiting: tuple[Pod, ...] = (), pools: Any = (), **rest: Any) -> Cluster:
    return cluster(pools, (*waiting, *(held for _, held in pairs)), nodes=tuple(n for n, _ in pairs), **rest)


WEB = {"app": "web"}
ONE_CORE = {"cpu": "1", "memory": "1Gi"}
SCENARIOS: list[tuple[str, Cluster, dict[str, int], PodReason | None]] = [
    ("nothing waits", cluster((pool(),)), {}, None),
    ("zero grows for one pod", cluster((pool(),), (pod(),)), {"a": 1}, R.TRIGGERED),
    ("first fit decreasing", cluster((pool(),), (*pods(3, "b", {"cpu": "2500m"}), *pods(3, "s", {"cpu": "1500m"}))),
     {"a": 3}, R.TRIGGERED),
    ("memory decides", cluster((pool(),), pods(4, "p", {"cpu": "100m", "memory": "5Gi"})), {"a": 4}, R.TRIGGERED),
    ("pod count decides", cluster((pool(sizes={"pods": "2"}),), pods(5, "p", {"cpu": "10m"})), {"a": 3}, R.TRIGGERED),
    ("no requests at all", cluster((pool(),), pods(220, "p", {})), {"a": 2}, R.TRIGGERED),
    ("ephemeral storage decides", cluster((pool(),), pods(2, "p", {"ephemeral-storage": "30Gi"})), {"a": 2},
     R.TRIGGERED),
    ("too much ephemeral storage", cluster((pool(),), (pod("p", {"ephemeral-storage": "50Gi"}),)), {}, R.NO_POOL),
    ("larger than any node", cluster((pool(),), (pod("p", BIG),)), {}, R.NO_POOL),
    ("an extended resource nobody has", cluster((pool(),), (pod("p", {"nvidia.com/gpu": "1"}),)), {}, R.NO_POOL),
    ("an extended resource of one pool",
     cluster((pool("a"), pool("b", sizes={"nvidia.com/gpu": "1"})), pods(2, "p", {"nvidia.com/gpu": "1"})),
     {"b": 2}, R.TRIGGERED),
    ("a DaemonSet eats what the pod needs",
     cluster((pool(),), (pod("p", {"cpu": "4"}),), daemons=(daemon("logs", {"cpu": "100m"}),)), {}, R.NO_POOL),
    ("a DaemonSet of other nodes eats nothing",
     cluster((pool(),), (pod("p", {"cpu": "4"}),),
             daemons=(daemon("logs", {"cpu": "100m"}, nodeSelector={"other": "yes"}),)), {"a": 1}, R.TRIGGERED),
    ("a DaemonSet takes its share of each node",
     cluster((pool(),), pods(8, "p", ONE_CORE), daemons=(daemon("logs", {"cpu": "100m"}),)), {"a": 3}, R.TRIGGERED),
    ("a DaemonSet's port is taken on each node",
     cluster((pool(),), (pod("p", ports=(80,)),), daemons=(daemon("proxy", {}, ports=(80,)),)), {}, R.NO_POOL),
    ("a DaemonSet's own pod", cluster((pool(),), (pod(owner="DaemonSet/logs"),)), {}, R.DAEMON),
    ("a volume in fsn1", cluster((pool("a"), pool("b", location="fsn1")), (claiming(IN_FSN1),)), {"b": 1},
     R.TRIGGERED),
    ("a volume where no pool is", cluster((pool("b", location="fsn1"),), (claiming(IN_HEL1),)), {}, R.NO_POOL),
    ("a volume made where the pod goes", cluster((pool(),), (claiming(Volume()),)), {"a": 1}, R.TRIGGERED),
    ("an unbound claim", cluster((pool(),), (claiming(None),)), {}, R.UNSUPPORTED),
    ("only a taint differs: not tolerated", cluster((pool("a", taints=[BATCH]), pool("b")), (pod(),)), {"b": 1},
     R.TRIGGERED),
    ("only a taint differs: none other", cluster((pool("a", taints=[BATCH]),), (pod(),)), {}, R.NO_POOL),
    ("a taint that is tolerated", cluster((pool("a", taints=[BATCH]),), (pod(tolerations=TOLERATES_BATCH),)),
     {"a": 1}, R.TRIGGERED),
    ("a label of one pool",
     cluster((pool("a"), pool("b", labels={"disk": "ssd"})), (pod(nodeSelector={"disk": "ssd"}),)),
     {"b": 1}, R.TRIGGERED),
    ("a zone", cluster((pool("a"), pool("b", location="fsn1")),
                       (pod(nodeSelector={"topology.kubernetes.io/zone": "fsn1"}),)), {"b": 1}, R.TRIGGERED),
    ("os and instance type", cluster((pool(),), (pod(nodeSelector={
        "kubernetes.io/os": "linux", "node.kubernetes.io/instance-type": "cx33"}),)), {"a": 1}, R.TRIGGERED),
    ("another architecture", cluster((pool(),), (pod(nodeSelector={"kubernetes.io/arch": "arm64"}),)), {}, R.NO_POOL),
    ("Gt", cluster((pool("a", labels={"gen": "3"}), pool("b", labels={"gen": "5"})),
                   (pod(affinity=wants("gen", "Gt", "4")),)), {"b": 1}, R.TRIGGERED),
    ("Lt", cluster((pool("a", labels={"gen": "3"}), pool("b", labels={"gen": "5"})),
                   (pod(affinity=wants("gen", "Lt", "4")),)), {"a": 1}, R.TRIGGERED),
    ("DoesNotExist", cluster((pool("a", labels={"gen": "3"}), pool("b")),
                             (pod(affinity=wants("gen", "DoesNotExist")),)), {"b": 1}, R.TRIGGERED),
    ("one node by its name", cluster((pool(),), (pod(nodeSelector={"kubernetes.io/hostname": "n1"}),)), {}, R.NO_POOL),
    ("hostname spread at zero", cluster((pool(),), (pod(labels=WEB, topologySpreadConstraints=spread()),)), {"a": 1},
     R.TRIGGERED),
    ("a lone node may hold all of a spread",
     cluster((pool(),), pods(3, "p", ONE_CORE, labels=WEB, topologySpreadConstraints=spread())), {"a": 1}, R.TRIGGERED),
    ("a spread over at least three nodes",
     cluster((pool(),), pods(3, "p", ONE_CORE, labels=WEB, topologySpreadConstraints=spread(minDomains=3))),
     {"a": 3}, R.TRIGGERED),
    ("an empty cordoned node holds a spread down",
     cluster((pool(),), pods(3, "p", ONE_CORE, labels=WEB, topologySpreadConstraints=spread()),
             nodes=(node("n", cordoned=True),)), {"a": 3}, R.TRIGGERED),
    ("a tainted node is no domain where taints are honoured",
     cluster((pool(),), pods(3, "p", ONE_CORE, labels=WEB,
                             topologySpreadConstraints=spread(nodeTaintsPolicy="Honor")),
             nodes=(node("n", taints=[{"key": "x", "effect": "NoSchedule"}]),)), {"a": 1}, R.TRIGGERED),
    ("hostname anti-affinity", cluster((pool(),), pods(3, "p", ONE_CORE, labels=WEB, affinity=apart())), {"a": 3},
     R.TRIGGERED),
    ("zone spread", cluster((pool(),), (pod(labels=WEB, topologySpreadConstraints=spread(topologyKey="zone")),)), {},
     R.UNSUPPORTED),
    ("zone anti-affinity", cluster((pool(),), (pod(affinity=apart("zone")),)), {}, R.UNSUPPORTED),
    ("another pod's zone anti-affinity",
     cluster((pool(),), (pod(labels=WEB), pod("q", {"cpu": "1"}, node="n", affinity=apart("zone"))),
             nodes=(node("n"),)), {}, R.UNSUPPORTED),
    ("host ports", cluster((pool(),), pods(3, "p", ONE_CORE, ports=(80,))), {"a": 3}, R.TRIGGERED),
    ("two pools fit: the one that wastes less",
     cluster((pool("a", sizes={"cpu": "16", "memory": "32Gi"}), pool("b")), pods(3, "p", {"memory": "2Gi"})),
     {"b": 1}, R.TRIGGERED),
    ("two pools fit alike: by name", cluster((pool("b"), pool("a")), (pod(),)), {"a": 1}, R.TRIGGERED),
    ("a pool that only some pods fit, and one for the others",
     cluster((pool("a"), pool("b", sizes={"cpu": "16", "memory": "32Gi"})), (pod("p", BIG), *pods(4, "q", ONE_CORE))),
     {"a": 1, "b": 1}, R.TRIGGERED),
    ("big and small pods that fill one node together",
     cluster((pool("a"), pool("b", sizes={"cpu": "16", "memory": "32Gi"})),
             (pod("p", BIG), *pods(8, "q", {"cpu": "1", "memory": "1800Mi"}))), {"b": 1}, R.TRIGGERED),
    ("at max", cluster((pool("a", target=10),), (pod(),)), {}, R.MAX_SIZE),
    ("above max", cluster((pool("a", target=12),), (pod(),)), {}, R.MAX_SIZE),
    ("up to max", cluster((pool("a", target=8),), pods(5, "p", {"cpu": "4"})), {"a": 2}, None),
    ("at max, another has room", cluster((pool("a", target=10), pool("b")), (pod(),)), {"b": 1}, R.TRIGGERED),
    ("the rest goes to another pool", cluster((pool("a", target=8), pool("b")), pods(5, "p", {"cpu": "4"})),
     {"a": 2, "b": 3}, R.TRIGGERED),
    ("in backoff", cluster((pool("a", backoff=BACKOFF),), (pod(),)), {}, R.IN_BACKOFF),
    ("in backoff, another has room", cluster((pool("a", backoff=BACKOFF), pool("b")), (pod(),)), {"b": 1}, R.TRIGGERED),
    ("backoff is over", cluster((pool("a", backoff=BACKOFF.model_copy(update={"until": NOW})),), (pod(),)), {"a": 1},
     R.TRIGGERED),
    ("out of stock, another has room: what never came is withdrawn",
     cluster((pool("a", backoff=BACKOFF, target=3, missing=2), pool("b")), pods(2, "p", {"cpu": "4"})),
     {"a": -2, "b": 2}, R.TRIGGERED),
    ("out of stock, nobody else: it goes on waiting",
     cluster((pool("a", backoff=BACKOFF, target=2, missing=2),), pods(2, "p", {"cpu": "4"})), {}, R.IN_BACKOFF),
    ("out of stock below min is not withdrawn",
     cluster((pool("a", low=2, backoff=BACKOFF, target=3, missing=3),)), {"a": -1}, None),
    ("paused", cluster((pool("a", paused=True),), (pod(),)), {}, R.PAUSED),
    ("a refused token", cluster((pool("a", frozen=True),), (pod(),)), {}, R.FROZEN),
    ("no pool", cluster((), (pod(),)), {}, R.NO_POOL),
    ("room on a node", cluster((pool(),), (pod(),), nodes=(node("n"),)), {}, R.FITS_EXISTING),
    ("room on a foreign node is room", cluster((pool(),), (pod(),), nodes=(node("robot"),)), {}, R.FITS_EXISTING),
    ("no room on a full node", on(full("n"), waiting=(pod(),), pools=(pool(),)), {"a": 1}, R.TRIGGERED),
    ("a cordoned node is no room", cluster((pool(),), (pod(),), nodes=(node("n", cordoned=True),)), {"a": 1},
     R.TRIGGERED),
    ("a node that is not ready is no room", cluster((pool(),), (pod(),), nodes=(node("n", ready=False),)), {"a": 1},
     R.TRIGGERED),
    ("a node that is leaving is no room",
     cluster((pool(leaving=frozenset({"n"})),), (pod(),), nodes=(node("n", "a"),)), {"a": 1}, R.TRIGGERED),
    ("pods of a leaving node need room too",
     cluster((pool(leaving=frozenset({"n"})),), (pod("p", node="n"),), nodes=(node("n", "a"),)), {"a": 1}, R.TRIGGERED),
    ("a finished pod takes nothing",
     cluster((pool(),), (pod("p", {"cpu": "4"}), pod("q", {"cpu": "4"}, node="n", status={"phase": "Succeeded"})),
             nodes=(node("n"),)), {}, R.FITS_EXISTING),
    ("an upcoming node covers it", cluster((pool("a", target=1, booting=1),), pods(4, "p", ONE_CORE)), {},
     R.FITS_UPCOMING),
    ("a server still to be created covers it", cluster((pool("a", target=1, missing=1),), pods(4, "p", ONE_CORE)), {},
     R.FITS_UPCOMING),
    ("an upcoming node covers a part", cluster((pool("a", target=1, booting=1),), pods(6, "p", ONE_CORE)), {"a": 1},
     None),
    ("priority below the cutoff", cluster((pool(),), (pod(priority=-11),)), {}, R.EXPENDABLE),
    ("priority at the cutoff", cluster((pool(),), (pod(priority=-10),)), {"a": 1}, R.TRIGGERED),
    ("expendable pods hold no room",
     cluster((pool(),), (pod(), pod("q", {"cpu": "4"}, node="n", priority=-11)), nodes=(node("n"),)), {},
     R.FITS_EXISTING),
    ("nominated", cluster((pool(),), (pod(status={"nominatedNodeName": "n"}),), nodes=(node("n"),)), {}, R.NOMINATED),
    ("room that a nominated pod will take is none",
     cluster((pool(),), (pod("p", {"cpu": "3"}), pod("q", {"cpu": "3"}, status={"nominatedNodeName": "n"})),
             nodes=(node("n"),)), {"a": 1}, R.TRIGGERED),
    ("a pod that the scheduler has not looked at", cluster((pool(),), (pod(status={"conditions": []}),)), {}, None),
    ("a pod that is being deleted", cluster((pool(),), (pod(meta={"deletionTimestamp": "2026-12-01T11:00:00Z"}),)), {},
     None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "sizes", "reason"), [row[1:] for row in SCENARIOS], ids=[row[0].replace(" ", "-") for row in SCENARIOS]
)
def test_scenario(seen: Cluster, sizes: dict[str, int], reason: PodReason | None) -> None:
    """The pools and counts, and what the first pod is told."""
    decided = ScaleUp(seen, Board(seen, NOW), NOW)
    assert {size.pool: size.count for size in decided.sizes} == sizes
    told = {verdict.pod: verdict.reason for verdict in decided.pods}
    if reason is not None:
        assert told["default/" + seen.pods[0].name] is reason


def test_a_priority_goes_first_where_room_is_short() -> None:
    seen = cluster((), (*pods(4, "low", ONE_CORE), pod("high", {"cpu": "2"}, priority=5)), nodes=(node("n"),))
    decided = ScaleUp(seen, Board(seen, NOW), NOW)
    fits = [verdict.pod for verdict in decided.pods if verdict.reason is R.FITS_EXISTING]
    assert fits == ["default/high", "default/low-000", "default/low-001"]


def test_a_waiting_daemon_pod_has_its_node_before_others() -> None:
    """Otherwise its room would be promised to a pod that then waits for ever."""
    bound = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]}
    logs = pod("logs", {"cpu": "1"}, owner="DaemonSet/logs", affinity={"nodeAffinity": {REQUIRED: bound}})
    seen = cluster((pool(),), (pod("p", {"cpu": "4"}), logs), nodes=(node("n"),))
    decided = ScaleUp(seen, Board(seen, NOW), NOW)
    assert [size.count for size in decided.sizes] == [1]


def said(seen: Cluster) -> str:
    return ScaleUp(seen, Board(seen, NOW), NOW).pods[0].message


def test_sentences_have_the_arithmetic() -> None:
    logs = (daemon("logs", {"cpu": "100m"}),)
    assert said(cluster((pool(),), (pod("p", {"cpu": "4"}),), daemons=logs)) == (
        "pool a, a new node: cpu 4 is asked and 3.9 of 4 is free"
    )
    assert said(cluster((pool(target=10),), (pod(),))) == "pool a would hold it and has 10 of at most 10 servers"
    assert "no stock of cx33" in said(cluster((pool(backoff=BACKOFF),), (pod(),)))
    assert "dedicated=batch:NoSchedule is not tolerated" in said(cluster((pool(taints=[BATCH]),), (pod(),)))
    many = tuple(pool(f"p{number}") for number in range(50))
    assert said(cluster(many, (pod("p", BIG),))).endswith("45 more pools do not hold it either")
    assert said(cluster((pool(),), (pod(),))) == "a (new 1) holds it; the pool grows by 1 server"
    seen = cluster((pool("a"), pool("b", sizes={"cpu": "8"})), pods(2, "p", {"cpu": "2", "memory": "2Gi"}))
    assert ScaleUp(seen, Board(seen, NOW), NOW).sizes[0].message == (
        "1 server for 2 pods: cpu 4 is asked and each has 4 free, memory 4.00 GiB is asked and each has 8.00 GiB free; "
        "23% would be wasted, b would waste 48%"
    )


def test_the_measured_capacity_is_not_the_sold_one() -> None:
    """A template that promises too much buys server after server for a pod that fits none of them."""
    waiting = (pod("p", {"memory": "7900Mi"}),)
    seen = cluster((pool(sizes={"memory": "7751Mi"}),), waiting)
    assert ScaleUp(seen, Board(seen, NOW), NOW).sizes == ()
