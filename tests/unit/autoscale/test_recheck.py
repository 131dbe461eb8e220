"""Whether a node that is cordoned to go may still go: a table of what came between, and of what no longer counts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from core.autoscale.cluster import Budget, Cluster, Past
from core.autoscale.pods import Pod
from core.autoscale.recheck import recheck
from core.autoscale.selectors import Operator, Requirement, Selector
from core.node_keys import CORDONED_BY, TO_BE_DELETED
from tests.unit.autoscale.builders import NOW, REQUIRED, cluster, node, pod, pool

KNOWN = {"ReplicaSet/default/web": 3}
WEB = {"app": "web"}
TAINT = {"key": TO_BE_DELETED, "value": "1764590400", "effect": "NoSchedule"}
OURS: dict[str, Any] = {"cordoned": True, "taints": [TAINT], "notes": {CORDONED_BY: "retire-1"}}
ANYWHERE = [{"operator": "Exists"}]
NO_ROOM = "default/p fits no other node that stays"
ALONE = {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone", "labelSelector": {"matchLabels": WEB}}]}}
BUDGET = Budget("web", Selector(("default",), (Requirement("app", Operator.IN, ("web",)),)), 0)


def about_to_go(
    *on_n1: Pod, n1: dict[str, Any] | None = None, n2: dict[str, Any] | None = None, **rest: Any
) -> Cluster:
    """Node n1 of pool a, cordoned and tainted by an operation, beside n2, which has 1.5 of 4 cores left."""
    busy = pod("busy", {"cpu": "2500m"}, node="n2")
    return cluster(
        rest.pop("pools", (pool("a", target=1, leaving=frozenset({"n1"})),)),
        (*on_n1, busy),
        **{
            "nodes": (node("n1", "a", **(OURS | (n1 or {}))), node("n2", "a", **(n2 or {}))),
            "controllers": KNOWN,
            **rest,
        },
    )


def here(requests: dict[str, str] | None = None, name: str = "p", **rest: Any) -> Pod:
    return pod(name, requests or {"cpu": "500m"}, node="n1", **rest)


DRAINED: list[tuple[str, Cluster, str]] = [
    ("nothing on it", about_to_go(), ""),
    ("a pod with room elsewhere", about_to_go(here()), ""),
    ("no pools are told of", about_to_go(here(), pools=()), ""),
    ("used more than half", about_to_go(here({"cpu": "1"}), here({"cpu": "3"}, owner="DaemonSet/logs")), ""),
    ("below min", about_to_go(here(), pools=(pool("a", target=1, low=2, leaving=frozenset({"n1"})),)), ""),
    ("unneeded for no time", about_to_go(here(), past=Past(added=NOW, failed=NOW)), ""),
    ("a pod with no room elsewhere", about_to_go(here({"cpu": "2"})), NO_ROOM),
    ("no room for all", about_to_go(here({"cpu": "1"}), here({"cpu": "1"}, name="q")), NO_ROOM.replace("/p", "/q")),
    ("a waiting pod takes the room", about_to_go(here({"cpu": "1"}), pod("new", {"cpu": "1"})), NO_ROOM),
    ("a pod for which servers come", about_to_go(here({"cpu": "1"}), pod("new", {"cpu": "4"})), ""),
    ("a bare pod", about_to_go(here(owner="")), "default/p, NotReplicated: "),
    ("a budget that allows none now", about_to_go(here(labels=WEB), budgets=(BUDGET,)), "default/p, NotEnoughPdb: "),
    ("zone anti-affinity", about_to_go(here(affinity=ALONE)), "default/p has what cannot be evaluated"),
    ("another pod's zone anti-affinity",
     replace(about_to_go(), pods=(here(labels=WEB), pod("busy", {"cpu": "1"}, node="n2", affinity=ALONE))),
     "default/p has what cannot be evaluated"),
    ("the other is cordoned", about_to_go(here(tolerations=ANYWHERE), n2={"cordoned": True}), NO_ROOM),
    ("the other is operated on", about_to_go(here(), n2={"notes": {CORDONED_BY: "repair-1"}}), NO_ROOM),
    ("the other is tainted to go", about_to_go(here(tolerations=ANYWHERE), n2={"taints": [TAINT]}),
     NO_ROOM),
    ("the other is tainted", about_to_go(here(), n2={"taints": [{"key": "batch", "effect": "NoSchedule"}]}),
     NO_ROOM),
    ("the other is not ready", about_to_go(here(), n2={"ready": False}), NO_ROOM),
    ("the other leaves as well", about_to_go(here(), pools=(pool("a", leaving=frozenset({"n1", "n2"})),)),
     NO_ROOM),
    ("its annotation forbids it now",
     about_to_go(n1={"notes": {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}}),
     "an annotation on the node forbids it"),
]  # fmt: skip
EMPTY: list[tuple[str, Cluster, str]] = [
    ("nothing on it", about_to_go(), ""),
    ("DaemonSet and static pods", about_to_go(
        here(owner="DaemonSet/logs"), here(name="proxy", owner="Node/n1", notes={"kubernetes.io/config.mirror": "x"}),
    ), ""),
    ("expendable and finished pods", about_to_go(
        here(priority=-20), here(name="q", status={"phase": "Succeeded"}),
    ), ""),
    ("a pod landed", about_to_go(here()), "default/p came to it since it was found empty"),
    ("two pods landed", about_to_go(here(), here(name="q")), "default/p and 1 more came to it"),
]  # fmt: skip


@pytest.mark.parametrize(("seen", "stays"), [row[1:] for row in DRAINED], ids=[row[0] for row in DRAINED])
def test_a_node_whose_pods_are_to_move(seen: Cluster, stays: str) -> None:
    assert_says(recheck(seen, "n1", False, NOW), stays)


@pytest.mark.parametrize(("seen", "stays"), [row[1:] for row in EMPTY], ids=[row[0] for row in EMPTY])
def test_a_node_that_was_empty(seen: Cluster, stays: str) -> None:
    assert_says(recheck(seen, "n1", True, NOW), stays)


def test_a_node_that_is_gone_need_not_stay() -> None:
    assert recheck(about_to_go(), "n3", True, NOW) == ""


def test_a_pod_that_ended_long_ago_keeps_nothing() -> None:
    ending = here({"cpu": "3"}, owner="", meta={"deletionTimestamp": "2026-12-01T12:00:00Z"})
    assert recheck(about_to_go(ending), "n1", True, NOW)
    assert recheck(about_to_go(ending), "n1", True, NOW + timedelta(seconds=31)) == ""


def assert_says(said: str, stays: str) -> None:
    assert said.startswith(stays)
    assert bool(said) is bool(stays)
