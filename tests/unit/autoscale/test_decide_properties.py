"""What holds of every whole decision, whatever the cluster."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from time import process_time

from hypothesis import given, settings
from hypothesis import strategies as st

from core.autoscale.cluster import Cluster, Past
from core.autoscale.decide import decide
from core.autoscale.reasons import NodeReason, PodReason
from tests.unit.autoscale.builders import NOW, cluster, daemon, node, pod, pool
from tests.unit.autoscale.strategies import clusters, shuffled

thorough = settings(max_examples=120, deadline=None)


def ripe(seen: Cluster) -> Cluster:
    """The same, where all that is unneeded has been so for long."""
    return replace(seen, past=Past(unneeded={n.name: NOW - timedelta(hours=1) for n in seen.nodes}))


@thorough
@given(clusters())
def test_no_pool_shrinks_below_its_min_and_nothing_goes_while_something_grows(seen: Cluster) -> None:
    decided = decide(ripe(seen), NOW)
    pool_of = {verdict.node: verdict.pool for verdict in decided.nodes}
    gone = Counter(pool_of[name] for name in decided.removals)
    for one in seen.pools:
        assert one.target - gone[one.spec.name] >= one.spec.min or not gone[one.spec.name]
    if any(size.count > 0 for size in decided.sizes):
        assert decided.removals == ()


@thorough
@given(clusters())
def test_each_node_of_a_pool_is_told_one_reason(seen: Cluster) -> None:
    decided = decide(ripe(seen), NOW)
    assert [verdict.node for verdict in decided.nodes] == sorted(n.name for n in seen.nodes if n.pool)
    assert all(verdict.message for verdict in decided.nodes)


@thorough
@given(clusters())
def test_pods_of_a_node_that_goes_have_room_on_those_that_stay(seen: Cluster) -> None:
    """Once the node is leaving, its pods are decided like waiting ones: they buy nothing and none is left over."""
    quiet = ripe(replace(seen, pods=tuple(p for p in seen.pods if p.node)))
    going = decide(quiet, NOW).removals
    held = {p.key for p in quiet.pods if p.node in going}
    leaving = tuple(
        replace(
            one,
            target=one.target - sum(name.startswith(one.spec.name) for name in going),
            leaving=frozenset(name for name in going if name.startswith(one.spec.name)),
        )
        for one in quiet.pools
    )
    after = decide(replace(quiet, pools=leaving), NOW)
    fits = (PodReason.FITS_EXISTING, PodReason.FITS_UPCOMING)
    assert {verdict.pod for verdict in after.pods} <= held
    assert [verdict for verdict in after.pods if verdict.reason not in fits] == []
    assert [size for size in after.sizes if size.count > 0] == []


@thorough
@given(clusters())
def test_a_steady_state_stays(seen: Cluster) -> None:
    """Where every node is used enough and nobody waits, nothing is done, however long it lasts."""
    held = tuple(pod(f"full-{n.name}", {"cpu": "3"}, node=n.name) for n in seen.nodes)
    pools = tuple(replace(one, backoff=None) for one in seen.pools if "cpu" not in one.spec.labels)
    used = tuple(replace(n, allocatable={**n.allocatable, "cpu": 4000}) for n in seen.nodes)
    decided = decide(ripe(replace(seen, nodes=used, pods=held, pools=pools)), NOW)
    assert (decided.sizes, decided.removals, decided.unneeded) == ((), (), {})


@thorough
@given(st.data())
def test_the_order_of_the_input_changes_nothing(data: st.DataObject) -> None:
    seen = ripe(data.draw(clusters()))
    assert decide(seen, NOW) == decide(data.draw(shuffled(seen)), NOW)


@thorough
@given(clusters())
def test_what_is_unneeded_keeps_its_time(seen: Cluster) -> None:
    """Decided again with nothing changed, the same nodes are unneeded, since the same moment."""
    first = decide(seen, NOW)
    later = decide(replace(seen, past=Past(unneeded=first.unneeded)), NOW + timedelta(minutes=1))
    assert later.unneeded == first.unneeded


def test_a_large_cluster_is_decided_in_about_a_second() -> None:
    """5,000 pods of 200 kinds wait, 8,000 run on 1,000 nodes, half of which could go, and 50 pools may grow.

    It takes about a second of one core. The bound only catches a decision that grows with the square of something.
    """
    pools = tuple(
        pool(f"p{n:02}", target=20, high=200, sizes={"cpu": str(4 + n % 4 * 4), "memory": f"{8 + n % 4 * 8}Gi"})
        for n in range(50)
    )
    nodes = tuple(node(f"n{n:04}", f"p{n % 50:02}") for n in range(1000))
    bound = [pod("b", {"cpu": f"{200 + n % 2 * 250}m", "memory": "900Mi"}, node=f"n{n:04}") for n in range(1000)]
    waiting = [pod("w", {"cpu": f"{1000 + n * 13 % 2500}m", "memory": f"{300 + n * 31 % 5000}Mi"}) for n in range(200)]
    held = [replace(one, name=f"b{n}-{m}") for n, one in enumerate(bound) for m in range(8)]
    asking = [replace(one, name=f"w{n}-{m}") for n, one in enumerate(waiting) for m in range(25)]
    logs = (daemon("logs", {"cpu": "100m"}),)
    controllers = {"ReplicaSet/default/web": 8000}
    seen = cluster(pools, (*held, *asking), nodes=nodes, daemons=logs, controllers=controllers)
    began = process_time()
    decided = decide(seen, NOW)
    assert process_time() - began < 10
    assert {verdict.reason for verdict in decided.pods} == {PodReason.TRIGGERED, PodReason.FITS_EXISTING}
    assert {verdict.reason for verdict in decided.nodes} >= {NodeReason.NOT_UNDERUTILIZED}
