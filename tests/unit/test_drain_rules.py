"""Which pods a drain moves, in which order, and when it asks again."""

from __future__ import annotations

from typing import Any

import pytest

from core.drain import CRITICAL, Pod, PodKind, next_group
from core.drain_holds import REPORTED, Holds, Pauses
from core.machine_calls import Hold

PAUSES = Pauses(first=5, longest=30)


def raw(**changes: Any) -> dict[str, Any]:
    metadata = {"namespace": "default", "name": "web-1", "uid": "u-1", **changes.pop("metadata", {})}
    return {"metadata": metadata, "spec": changes.pop("spec", {}), "status": {"phase": "Running"} | changes}


OWNED_BY_DAEMON_SET = {"ownerReferences": [{"kind": "DaemonSet", "name": "agent", "controller": True}]}
REFERRED_BY_DAEMON_SET = {"ownerReferences": [{"kind": "DaemonSet", "name": "agent"}]}
MIRROR = {"annotations": {"kubernetes.io/config.mirror": "hash"}}
DELETED = {"deletionTimestamp": "2026-12-01T08:00:00Z"}


@pytest.mark.parametrize(
    ("pod", "kind"),
    [
        (raw(), PodKind.EVICTABLE),
        (raw(phase="Pending"), PodKind.EVICTABLE),
        (raw(phase="Succeeded"), PodKind.FINISHED),
        (raw(phase="Failed"), PodKind.FINISHED),
        (raw(metadata=DELETED), PodKind.TERMINATING),
        (raw(metadata=OWNED_BY_DAEMON_SET), PodKind.DAEMON),
        (raw(metadata=OWNED_BY_DAEMON_SET | DELETED), PodKind.DAEMON),
        (raw(metadata=REFERRED_BY_DAEMON_SET), PodKind.EVICTABLE),
        (raw(metadata=MIRROR), PodKind.MIRROR),
    ],
)
def test_each_pod_is_of_one_kind(pod: dict[str, Any], kind: PodKind) -> None:
    assert Pod.of(pod).kind is kind


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "dedicated", "operator": "Exists"}, False),
    ],
)
def test_a_pod_that_can_come_back_to_a_cordoned_node_is_known(toleration: dict[str, str], tolerates: bool) -> None:
    assert Pod.of(raw(spec={"tolerations": [toleration]})).tolerates_cordon is tolerates


def pod(name: str, priority: int, kind: PodKind = PodKind.EVICTABLE) -> Pod:
    return Pod("default", name, f"uid-{name}", kind, priority)


def group(*pods: Pod, held: tuple[str, ...] = ()) -> list[str]:
    evictable = [each for each in pods if each.kind is PodKind.EVICTABLE]
    terminating = [each for each in pods if each.kind is PodKind.TERMINATING]
    return [each.name for each in next_group(evictable, terminating, {f"default/{name}" for name in held})]


def test_the_lowest_priority_goes_first_and_held_pods_keep_nobody_back() -> None:
    pods = (pod("a", 0), pod("b", 0), pod("c", 1000))
    assert group(*pods) == ["a", "b"]
    assert group(*pods, held=("a",)) == ["b"]
    assert group(*pods, held=("a", "b")) == ["c"]
    assert group(pod("a", -5), pod("b", 0)) == ["a"]
    assert group() == []


def test_critical_pods_wait_for_ordinary_ones_to_end() -> None:
    critical = (pod("dns", CRITICAL), pod("proxy", CRITICAL + 1000))
    leaving = pod("web", 0, PodKind.TERMINATING)
    assert group(leaving, *critical) == []
    assert group(*critical) == ["dns", "proxy"]
    assert group(pod("web", 0), *critical, held=("web",)) == ["dns", "proxy"]


def held(name: str, budget: str = "", message: str = "m") -> Hold:
    return Hold(pod=f"default/{name}", budget=budget, message=message)


def test_the_pause_is_the_budget_s_and_grows_with_each_refusal() -> None:
    holds, now, pauses = Holds([], PAUSES), 100.0, []
    for name in ("a", "b"):
        holds.hold(held(name, "pdb"))
    for _ in range(5):
        holds.wait("default/a", now)
        holds.wait("default/b", now)  # refused in the same breath: no second doubling
        start = now
        while not holds.due("default/b", now):
            now += 1
        pauses.append(now - start)
    assert pauses == [5, 10, 20, 30, 30]


def test_budgets_of_the_same_name_in_two_namespaces_are_two() -> None:
    holds = Holds([Hold(pod="one/a", budget="pdb"), Hold(pod="two/a", budget="pdb")], PAUSES)
    holds.wait("one/a", 0.0)
    assert not holds.due("one/a", 1.0)
    assert holds.due("two/a", 1.0)


def test_the_api_s_own_wish_and_a_hopeless_case_set_the_pause() -> None:
    holds = Holds([held("a"), held("b")], PAUSES)
    holds.wait("default/a", 0.0, asked_s=10)
    assert (holds.due("default/a", 9.9), holds.due("default/a", 10.0)) == (False, True)
    holds.wait("default/b", 0.0, final=True)
    assert (holds.due("default/b", 29.9), holds.due("default/b", 30.0)) == (False, True)


def test_other_pods_or_budgets_are_news_and_a_budget_s_counts_are_not() -> None:
    holds = Holds([held("a", "pdb", "needs 2 and has 2")], PAUSES)
    assert not holds.news
    holds.hold(held("a", "pdb", "needs 2 and has 1"))
    assert not holds.news
    holds.hold(held("b", message="more than one PodDisruptionBudget"))
    assert holds.news
    holds.lift("default/b")
    assert not holds.news
    holds.keep(set())
    assert holds.news
    assert holds.reported == []


def test_holds_beyond_what_is_reported_are_no_news() -> None:
    many = Holds([], PAUSES)
    for number in range(REPORTED + 5):
        many.hold(held(f"pod-{number:02}", "pdb"))
    again = Holds(many.reported, PAUSES)
    for number in reversed(range(REPORTED + 5)):
        again.hold(held(f"pod-{number:02}", "pdb"))
    assert len(again.reported) == REPORTED
    assert not again.news
