"""What goes into a decision and what comes out of it: pools from their standings, news, and answers."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from core.autoscale.assemble import Assembled, assemble, measure, past_of, pools_of, starting
from core.autoscale.cluster import Cluster, Options, Past
from core.autoscale.decide import decide
from core.autoscale.explain import ANSWERED, explain
from core.autoscale.nodes import Node
from core.autoscale.outcome import REMEMBERED, is_news, outcome, wake_at
from core.autoscale.quantities import CPU, MEMORY
from core.autoscale_calls import Autoscale, Decided, ExplainObject, Measured, ObjectKind, Standing
from core.calls import ClusterRef, ServerType
from tests.unit.autoscale.builders import BACKOFF, NOW, cluster, node, pod, pods, pool, spec

CX33 = ServerType(name="cx33", cores=4, memory_gb=8, disk_gb=80)
REF = ClusterRef(organization="acme", cluster="prod")


def standing(name: str = "a", *, server: ServerType | None = CX33, target: int = 0, **rest: Any) -> Standing:
    own = {key: rest.pop(key) for key in ("low", "high") if key in rest}
    return Standing(pool_id=f"{name}-id", spec=spec(name, **own), server=server, target=target, **rest)


def call(*standings: Standing, **rest: Any) -> Autoscale:
    return Autoscale(cluster=REF, standings=list(standings), **rest)


BOOTING = [
    ("nothing is there yet", standing(target=3), (), (), (3, 0)),
    ("one works", standing(target=3), ("n1",), ("n1",), (2, 0)),
    ("one has registered and takes no pods yet", standing(target=3), ("n1", "n2"), ("n1",), (2, 0)),
    ("what is not created yet is not booting", standing(target=3, missing=2), (), (), (1, 2)),
    (
        "what was missing has come since that was told",
        standing(target=2, missing=1),
        ("n1", "n2"),
        ("n1", "n2"),
        (0, 0),
    ),
    ("a broken node is no node on its way", standing(target=2, broken=["n2"]), ("n1", "n2"), ("n1",), (0, 0)),
    ("a broken node that works again", standing(target=2, broken=["n2"]), ("n1", "n2"), ("n1", "n2"), (0, 0)),
    ("a leaving node is not of the target", standing(target=1, leaving=["n1"]), ("n1",), ("n1",), (1, 0)),
    ("more nodes than wanted", standing(target=1), ("n1", "n2"), ("n1", "n2"), (0, 0)),
]


@pytest.mark.parametrize(("what", "told", "there", "working", "coming"), BOOTING, ids=[row[0] for row in BOOTING])
def test_servers_on_their_way_are_the_target_less_what_is_accounted_for(
    what: str, told: Standing, there: tuple[str, ...], working: tuple[str, ...], coming: tuple[int, int]
) -> None:
    [made] = pools_of([told], tuple(node(name, "a") for name in there), working, {})
    assert (made.booting, made.missing) == coming


def test_a_node_that_starts_is_a_server_on_its_way_and_no_node_yet() -> None:
    told = [standing("a", leaving=["going"], broken=["broken"]), standing("b", server=None)]
    there = [node(name, "a") for name in ("works", "starts", "going", "broken")]
    there += [node("other", "b"), node("foreign")]
    assert starting(told, there, ("works",)) == {"starts"}


def test_a_node_that_starts_is_no_second_place_for_a_spread() -> None:
    rule = {"topologyKey": "kubernetes.io/hostname", "maxSkew": 1, "labelSelector": {"matchLabels": {"app": "web"}}}
    rule |= {"whenUnsatisfiable": "DoNotSchedule"}
    waiting = pods(3, requests={"cpu": "100m"}, labels={"app": "web"}, topologySpreadConstraints=[rule])
    shown = cluster((), waiting, nodes=(node("n1", "a", ready=False),))
    made = assemble(shown, (), call(standing(target=1), standing("b", server=None)))
    assert (made.starting, made.cluster.nodes, made.unsized) == ({"n1"}, (), ("b",))
    assert decide(made.cluster, NOW).sizes == (), "the server on its way holds all three"


def test_nodes_of_another_pool_do_not_count() -> None:
    [made] = pools_of([standing(target=1)], (node("n1", "b"), node("n2")), ("n1", "n2"), {})
    assert made.booting == 1


def test_pools_that_cannot_be_judged_take_no_part() -> None:
    told = [standing("a"), standing("b", deleting=True), standing("c", server=None)]
    assert [made.spec.name for made in pools_of(told, (), (), {})] == ["a"]


def test_a_new_node_is_what_real_ones_of_its_type_were_measured_to_be() -> None:
    told = [standing("a"), standing("b"), standing("c", server=CX33.model_copy(update={"name": "cx43"}))]
    seen = (
        node("n1", "a", allocatable={"memory": "7Gi"}),
        node("n2", "b", allocatable={"memory": "6Gi", "cpu": "3800m"}),
        node("foreign", allocatable={"memory": "1Gi"}),
    )
    found = measure(told, seen, ("n1", "n2", "foreign"), {})
    assert list(found) == ["cx33"], "nothing is known of a type that has no node"
    assert (found["cx33"].allocatable[MEMORY], found["cx33"].allocatable[CPU]) == (6 * 2**30, 3800)
    for made in pools_of(told[:2], (), (), found):
        assert made.template.allocatable[MEMORY] == 6 * 2**30


def test_a_measurement_outlives_the_nodes_that_it_was_taken_on() -> None:
    known = {"cx33": Measured(allocatable={"memory": 5})}
    assert measure([standing()], (), (), known) == known
    assert measure([standing()], (node("n1", "a"),), (), known) == known, "a node that does not work yet says nothing"


def test_the_past_is_the_latest_of_all_pools() -> None:
    early, late = NOW - timedelta(minutes=9), NOW - timedelta(minutes=1)
    told = call(standing("a", aborted_at=early), standing("b", aborted_at=late, removed_at=early), added=early)
    assert past_of(told) == Past(added=early, failed=late, deleted=early)


def idle(count: int, **past: Any) -> Cluster:
    nodes: tuple[Node, ...] = tuple(node(f"n{number:03}", "a") for number in range(count))
    return cluster((pool("a", target=count, high=count),), nodes=nodes, past=Past(**past))


def test_what_is_as_it_was_is_no_news() -> None:
    state = idle(2)
    first = outcome(call(standing(target=2)), decide(state, NOW), {})
    assert first == Decided(unneeded={"n000": NOW, "n001": NOW})
    again = call(standing(target=2), unneeded=first.unneeded)
    later = decide(idle(2, unneeded=first.unneeded), NOW + timedelta(minutes=1))
    assert not is_news(outcome(again, later, {}))


def test_a_decision_says_that_the_cluster_is_seen_again() -> None:
    nothing = decide(cluster(), NOW)
    assert outcome(call(), nothing, {}) == Decided()
    assert outcome(call(blind="no right to list pods"), nothing, {}) == Decided(blind="")


def test_growth_and_removals_carry_their_reasons() -> None:
    grown = outcome(call(standing()), decide(cluster((pool("a"),), pods(3)), NOW), {})
    assert [(growth.pool, growth.size, growth.count) for growth in grown.growth] == [("a", 1, 1)]
    assert "3 pods" in grown.growth[0].message
    since = NOW - timedelta(minutes=11)
    gone = outcome(call(), decide(idle(1, unneeded={"n000": since}), NOW), {})
    assert [(removal.node, removal.empty) for removal in gone.removals] == [("n000", True)]
    assert "unneeded for 11 min" in gone.removals[0].message


def test_a_large_idle_cluster_fits_a_history() -> None:
    decided = outcome(call(), decide(idle(1000), NOW), {})
    assert len(decided.unneeded or {}) == REMEMBERED
    assert len(decided.model_dump_json()) < 10_000


def test_the_clock_wakes_it_when_time_alone_changes_something() -> None:
    since = NOW - timedelta(minutes=4)
    state = idle(1, unneeded={"n000": since})
    assert wake_at(state, decide(state, NOW), NOW) == since + timedelta(minutes=10)
    cooling = idle(1, unneeded={"n000": NOW - timedelta(minutes=11)}, added=NOW - timedelta(minutes=8))
    assert wake_at(cooling, decide(cooling, NOW), NOW) == NOW + timedelta(minutes=2)
    resting = cluster((pool("a", backoff=BACKOFF),))
    assert wake_at(resting, decide(resting, NOW), NOW) == BACKOFF.until
    assert wake_at(cluster(), decide(cluster(), NOW), NOW) is None


POD, NODE = ObjectKind.POD, ObjectKind.NODE
HERE = cluster(
    (pool("a", target=1, low=1, high=1),),
    (
        pod("waits", {"cpu": "9"}),
        pod("runs", node="n1"),
        pod("done", node="n1", status={"phase": "Succeeded"}),
        pod("fresh", status={"conditions": []}),
    ),
    nodes=(node("n1", "a"), node("own"), node("orphan", "b")),
)
ANSWERS = [
    (POD, "waits", "NoPoolFits"),
    (POD, "runs", "Scheduled"),
    (POD, "done", "Finished"),
    (POD, "fresh", "NotTriedYet"),
    (POD, "nobody", None),
    (NODE, "n1", "NodeGroupMinSizeReached"),
    (NODE, "own", "NotManaged"),
    (NODE, "orphan", "NotManaged"),
    (NODE, "nobody", None),
]


def ground(state: Cluster, *young: str, unsized: tuple[str, ...] = ()) -> Assembled:
    return Assembled(state, {}, frozenset(young), unsized)


@pytest.mark.parametrize(("kind", "name", "reason"), ANSWERS)
def test_every_pod_and_node_has_an_answer(kind: ObjectKind, name: str, reason: str | None) -> None:
    found = explain(ground(HERE), decide(HERE, NOW), ExplainObject(kind=kind, name=name)).verdicts
    assert [verdict.reason for verdict in found] == ([reason] if reason else [])
    assert all(verdict.message and verdict.meaning for verdict in found)


def test_a_node_that_starts_says_so() -> None:
    asked = ExplainObject(kind=NODE, name="young")
    assert [v.reason for v in explain(ground(HERE, "young"), decide(HERE, NOW), asked).verdicts] == ["Starting"]
    every = explain(ground(HERE, "young"), decide(HERE, NOW), ExplainObject()).verdicts
    assert [v.name for v in every] == ["default/waits", "young", "n1"]


def test_without_a_name_it_answers_for_all_that_wait_and_all_nodes_of_pools() -> None:
    found = explain(ground(HERE), decide(HERE, NOW), ExplainObject())
    assert [(verdict.kind, verdict.name) for verdict in found.verdicts] == [(POD, "default/waits"), (NODE, "n1")]


def test_an_answer_names_the_pools_that_take_no_part() -> None:
    found = explain(ground(HERE, unsized=("old", "older")), decide(HERE, NOW), ExplainObject())
    assert found.note == "pools whose server type's size is not known take no part: old, older"


def test_a_long_answer_is_cut_and_says_so() -> None:
    crowd = cluster((), pods(ANSWERED + 7))
    found = explain(ground(crowd), decide(crowd, NOW), ExplainObject())
    assert (len(found.verdicts), found.left_out) == (ANSWERED, 7)


def test_delays_are_the_options() -> None:
    state = idle(1, unneeded={"n000": NOW - timedelta(minutes=11)}, added=NOW - timedelta(minutes=2))
    quick = replace(state, options=Options(delay_after_add=timedelta(0)))
    assert decide(state, NOW).removals == ()
    assert decide(quick, NOW).removals == ("n000",)
