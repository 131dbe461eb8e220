"""Which nodes go and why the others stay: a table of what keeps a node, and what must not."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from core.autoscale.cluster import Budget, Cluster, Options, Past
from core.autoscale.decide import decide
from core.autoscale.pods import Pod
from core.autoscale.reasons import BlockingReason, NodeReason
from core.autoscale.selectors import Operator, Requirement, Selector
from core.node_keys import CORDONED_BY, TO_BE_DELETED
from tests.unit.autoscale.builders import NOW, REQUIRED, cluster, node, pod, pods, pool

R, B = NodeReason, BlockingReason
KNOWN = {"ReplicaSet/default/web": 3, "Job/default/nightly": 1, "ReplicaSet/kube-system/web": 2}
SMALL = {"cpu": "500m", "memory": "1Gi"}
WEB = {"app": "web"}


def ago(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


def unneeded(*names: str, minutes: float = 11, **rest: Any) -> Past:
    return Past(unneeded={name: ago(minutes) for name in names}, **rest)


def budget(allowed: int) -> Budget:
    return Budget("web", Selector(("default",), (Requirement("app", Operator.IN, ("web",)),)), allowed)


def pair(*on_n1: Pod, n1: dict[str, Any] | None = None, of: dict[str, Any] | None = None, **rest: Any) -> Cluster:
    """Node n1 of pool a with pods, unneeded for eleven minutes, beside n2, which is used enough to stay."""
    busy = pod("busy", {"cpu": "2500m"}, node="n2")
    return cluster(
        (pool("a", **{"target": 2, **(of or {})}),),
        (*on_n1, busy),
        **{
            "nodes": (node("n1", "a", **(n1 or {})), node("n2", "a")),
            "controllers": KNOWN,
            "past": unneeded("n1"),
            **rest,
        },
    )


def here(requests: dict[str, str] | None = None, name: str = "p", **rest: Any) -> Pod:
    return pod(name, requests or SMALL, node="n1", **rest)


def local(kind: dict[str, Any], **rest: Any) -> Pod:
    return here(volumes=[{"name": "scratch", **kind}], **rest)


def zone_apart(app: str) -> dict[str, Any]:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {REQUIRED: [term]}}


YOUNG = {"creationTimestamp": "2026-12-01T11:30:00Z"}
OLD = {"creationTimestamp": "2026-12-01T10:30:00Z"}
SAFE = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
SCENARIOS: list[tuple[str, Cluster, NodeReason, BlockingReason | None]] = [
    ("empty", pair(), R.REMOVED_EMPTY, None),
    ("a pod that has room elsewhere", pair(here()), R.REMOVED_DRAINED, None),
    ("only DaemonSet and static pods", pair(
        here(owner="DaemonSet/logs"), here(name="proxy", owner="Node/n1", notes={"kubernetes.io/config.mirror": "x"}),
    ), R.REMOVED_EMPTY, None),
    ("DaemonSet pods count as use", pair(here({"cpu": "2"}, owner="DaemonSet/logs")), R.NOT_UNDERUTILIZED, None),
    ("just below half", pair(here({"cpu": "1499m"}), here({"cpu": "500m"}, owner="DaemonSet/logs")), R.REMOVED_DRAINED,
     None),
    ("half of cpu", pair(here({"cpu": "2"})), R.NOT_UNDERUTILIZED, None),
    ("half of memory", pair(here({"memory": "4Gi"})), R.NOT_UNDERUTILIZED, None),
    ("the pool's own threshold", pair(here({"cpu": "1"}), of={"scale_down_threshold": 0.2}), R.NOT_UNDERUTILIZED, None),
    ("expendable pods hold nothing", pair(here({"cpu": "3"}, priority=-20)), R.REMOVED_EMPTY, None),
    ("finished pods hold nothing", pair(here({"cpu": "3"}, status={"phase": "Failed"})), R.REMOVED_EMPTY, None),
    ("a pod that should have ended long ago",
     pair(here({"cpu": "3"}, meta={"deletionTimestamp": "2026-12-01T11:59:00Z"})), R.REMOVED_EMPTY, None),
    ("a pod that is ending", pair(here(owner="", meta={"deletionTimestamp": "2026-12-01T11:59:45Z"})), R.BLOCKED,
     B.NOT_REPLICATED),
    ("not yet unneeded", pair(past=Past()), R.NOT_LONG_ENOUGH, None),
    ("unneeded for nine minutes", pair(past=unneeded("n1", minutes=9)), R.NOT_LONG_ENOUGH, None),
    ("unneeded for ten minutes", pair(past=unneeded("n1", minutes=10)), R.REMOVED_EMPTY, None),
    ("the pool's own time", pair(of={"scale_down_after": timedelta(minutes=30)}), R.NOT_LONG_ENOUGH, None),
    ("no room elsewhere", pair(here({"cpu": "1600m"})), R.NO_PLACE, None),
    ("no room for all", pair(*(here(name=name) for name in "pqr"), here({"cpu": "400m"}, name="s")), R.NO_PLACE, None),
    ("selects its node", pair(here(nodeSelector={"kubernetes.io/hostname": "n1"})), R.NO_PLACE, None),
    ("the host port is taken elsewhere", replace(pair(here(ports=(80,))), pods=(
        here(ports=(80,)), pod("busy", {"cpu": "2500m"}, node="n2", ports=(80,)))), R.NO_PLACE, None),
    ("a bare pod", pair(here(owner="")), R.BLOCKED, B.NOT_REPLICATED),
    ("a bare pod that is safe to evict", pair(here(owner="", notes=SAFE)), R.REMOVED_DRAINED, None),
    ("a controller of another kind", pair(here(owner="Operator/db")), R.BLOCKED, B.NOT_REPLICATED),
    ("a Job", pair(here(owner="Job/nightly")), R.REMOVED_DRAINED, None),
    ("a controller that is gone", pair(here(owner="ReplicaSet/gone")), R.BLOCKED, B.CONTROLLER_NOT_FOUND),
    ("safe to evict, with a controller that is gone", pair(here(owner="ReplicaSet/gone", notes=SAFE)), R.BLOCKED,
     B.CONTROLLER_NOT_FOUND),
    ("few replicas", pair(here(), options=Options(min_replicas=4)), R.BLOCKED, B.MIN_REPLICAS),
    ("enough replicas", pair(here(), options=Options(min_replicas=3)), R.REMOVED_DRAINED, None),
    ("not safe to evict", pair(here(notes={"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"})), R.BLOCKED,
     B.NOT_SAFE),
    ("emptyDir", pair(local({"emptyDir": {}})), R.BLOCKED, B.LOCAL_STORAGE),
    ("emptyDir in memory", pair(local({"emptyDir": {"medium": "Memory"}})), R.REMOVED_DRAINED, None),
    ("hostPath", pair(local({"hostPath": {"path": "/srv"}})), R.BLOCKED, B.LOCAL_STORAGE),
    ("emptyDir that is safe", pair(local({"emptyDir": {}}, notes={
        "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes": "other, scratch"})), R.REMOVED_DRAINED, None),
    ("emptyDir, safe to evict", pair(local({"emptyDir": {}}, notes=SAFE)), R.REMOVED_DRAINED, None),
    ("a young pod of kube-system", pair(here(namespace="kube-system", meta=YOUNG)), R.BLOCKED, B.KUBE_SYSTEM),
    ("an old pod of kube-system", pair(here(namespace="kube-system", meta=OLD)), R.REMOVED_DRAINED, None),
    ("a budget that allows none", pair(here(labels=WEB), budgets=(budget(0),)), R.BLOCKED, B.PDB),
    ("a budget that allows one", pair(here(labels=WEB), budgets=(budget(1),)), R.REMOVED_DRAINED, None),
    ("a budget of other pods", pair(here(), budgets=(budget(0),)), R.REMOVED_DRAINED, None),
    ("safe to evict, but no disruption is allowed", pair(here(labels=WEB, notes=SAFE), budgets=(budget(0),)), R.BLOCKED,
     B.PDB),
    ("zone anti-affinity", pair(here(affinity=zone_apart("web"))), R.UNSUPPORTED, None),
    ("another pod's zone anti-affinity",
     replace(pair(), pods=(here(labels=WEB), pod("busy", {"cpu": "3"}, node="n2", affinity=zone_apart("web")))),
     R.UNSUPPORTED, None),
    ("scale-down-disabled", pair(n1={"notes": {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}}),
     R.DISABLED, None),
    ("at min", pair(of={"low": 2}), R.MIN_SIZE, None),
    ("a paused pool", pair(of={"paused": True}), R.PAUSED, None),
    ("a pool whose token is refused", pair(of={"frozen": True}), R.FROZEN, None),
    ("cordoned by somebody, with pods", pair(here(), n1={"cordoned": True}), R.CORDONED, None),
    ("cordoned by somebody, empty", pair(n1={"cordoned": True}), R.REMOVED_EMPTY, None),
    ("cordoned by an operation", pair(n1={"cordoned": True, "notes": {CORDONED_BY: "repair-1"}}), R.IN_OPERATION, None),
    ("tainted to go by somebody else", pair(n1={"taints": [{"key": TO_BE_DELETED, "effect": "NoSchedule"}]}),
     R.REMOVED_EMPTY, None),
    ("not ready", pair(n1={"ready": False}), R.NOT_READY, None),
    ("leaving", pair(of={"leaving": frozenset({"n1"}), "target": 1}), R.BEING_DELETED, None),
    ("a node was added", pair(past=unneeded("n1", added=ago(9))), R.IN_COOLDOWN, None),
    ("a node was added long ago", pair(past=unneeded("n1", added=ago(10))), R.REMOVED_EMPTY, None),
    ("a removal failed", pair(past=unneeded("n1", failed=ago(2))), R.IN_COOLDOWN, None),
    ("a removal failed long ago", pair(past=unneeded("n1", failed=ago(3))), R.REMOVED_EMPTY, None),
    ("a node was removed", pair(past=unneeded("n1", deleted=ago(1))), R.REMOVED_EMPTY, None),
    ("a node was removed, with a delay",
     pair(past=unneeded("n1", deleted=ago(1)), options=Options(delay_after_delete=timedelta(minutes=2))), R.IN_COOLDOWN,
     None),
    ("a waiting pod will go there", pair(pod("w", {"cpu": "3"})), R.NOT_UNDERUTILIZED, None),
    ("a waiting pod needs another pool", replace(
        pair(pod("w", {"cpu": "6"})), pools=(pool("a", target=2), pool("b", sizes={"cpu": "8"}))), R.IN_COOLDOWN, None),
    ("a waiting pod that nothing helps", pair(pod("w", {"cpu": "60"})), R.REMOVED_EMPTY, None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "reason", "blocking"), [row[1:] for row in SCENARIOS], ids=[row[0].replace(" ", "-") for row in SCENARIOS]
)
def test_scenario(seen: Cluster, reason: NodeReason, blocking: BlockingReason | None) -> None:
    """What is said of n1, and whether it goes."""
    decided = decide(seen, NOW)
    verdict = next(verdict for verdict in decided.nodes if verdict.node == "n1")
    assert verdict.reason is reason
    assert verdict.message
    assert (f", {blocking}: " in verdict.message) if blocking else (verdict.reason is not R.BLOCKED)
    goes = reason in (R.REMOVED_EMPTY, R.REMOVED_DRAINED)
    assert ("n1" in decided.removals) is goes
    waits = goes or reason in (R.NOT_LONG_ENOUGH, R.IN_COOLDOWN, R.WAITS_ITS_TURN)
    assert ("n1" in decided.unneeded) is waits, "a node that is needed again starts its time anew"


def many(count: int, *held: Pod, **of: Any) -> Cluster:
    names = [f"n{number:02}" for number in range(count)]
    nodes = (*(node(name, "a") for name in names), node("other"))
    options = {"target": count, "high": 50, **of}
    return cluster((pool("a", **options),), held, nodes=nodes, past=unneeded(*names), controllers=KNOWN)


def test_empty_nodes_go_together_up_to_ten() -> None:
    assert decide(many(12), NOW).removals == tuple(f"n{number:02}" for number in range(10))
    assert len(decide(many(12, leaving=frozenset({"n00", "n01", "n02"}), target=9), NOW).removals) == 7


def test_never_below_min() -> None:
    decided = decide(many(5, low=3), NOW)
    assert decided.removals == ("n00", "n01")
    assert [verdict.reason for verdict in decided.nodes[2:]] == [R.MIN_SIZE] * 3


def test_one_is_drained_at_a_time() -> None:
    held = tuple(pod(f"p{number}", SMALL, node=f"n{number:02}") for number in range(3))
    decided = decide(many(3, *held), NOW)
    assert decided.removals == ("n00",)
    assert [verdict.reason for verdict in decided.nodes] == [R.REMOVED_DRAINED, R.WAITS_ITS_TURN, R.WAITS_ITS_TURN]
    assert decide(many(3, *held, leaving=frozenset({"n02"}), target=2), NOW).removals == ()


def test_empty_ones_go_before_any_is_drained() -> None:
    assert decide(many(3, pod("p", SMALL, node="n00")), NOW).removals == ("n01", "n02")


def test_two_nodes_do_not_go_in_each_others_favour() -> None:
    held = (pod("p", SMALL, node="n00"), pod("q", SMALL, node="n01"))
    alone = replace(many(2, *held), nodes=(node("n00", "a"), node("n01", "a")))
    decided = decide(alone, NOW)
    assert [verdict.reason for verdict in decided.nodes] == [R.REMOVED_DRAINED, R.NO_PLACE]
    assert set(decided.unneeded) == {"n00"}


def test_what_was_unneeded_longest_goes_first() -> None:
    held = (pod("p", SMALL, node="n00"), pod("q", {"cpu": "1"}, node="n01"))
    seen = replace(many(2, *held), past=Past(unneeded={"n00": ago(11), "n01": ago(20)}))
    assert decide(seen, NOW).removals == ("n01",)


def test_foreign_nodes_are_left_alone() -> None:
    assert {verdict.node for verdict in decide(many(2), NOW).nodes} == {"n00", "n01"}


def test_anti_affinity_needs_a_node_of_its_own() -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": WEB}}
    lonely = {"labels": WEB, "affinity": {"podAntiAffinity": {REQUIRED: [term]}}}
    held = tuple(pod(f"p{number}", SMALL, node=f"n{number:02}", **lonely) for number in range(2))
    assert decide(many(2, *held), NOW).removals == ("n00",)
    taken = (*held, pod("p2", SMALL, node="other", **lonely))
    assert decide(many(2, *taken), NOW).removals == ()


def test_a_pool_that_grew_for_pods_does_not_shrink_under_them() -> None:
    waiting = pods(8, "w", {"cpu": "1", "memory": "1Gi"})
    grown = decide(cluster((pool(),), waiting, controllers=KNOWN), NOW)
    assert [size.size for size in grown.sizes] == [2]
    later = cluster((pool(target=2),), waiting, nodes=(node("n1", "a"), node("n2", "a")), controllers=KNOWN)
    assert decide(later, NOW).unneeded == {}


def test_sentences_have_the_arithmetic() -> None:
    assert decide(pair(here({"cpu": "3"})), NOW).nodes[0].message == (
        "cpu 3 of 4 is asked for, 75%, which is not below 50%"
    )
    assert decide(pair(here()), NOW).nodes[0].message == (
        "cpu 0.5 of 4 is asked for, 12%; unneeded for 11 min of 10 min; its pods (1) have room elsewhere"
    )
