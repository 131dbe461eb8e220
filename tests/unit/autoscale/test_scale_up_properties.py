"""What holds of every decision to grow, whatever the cluster."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from core.autoscale.board import Board
from core.autoscale.cluster import Cluster
from core.autoscale.fit import node_misfit
from core.autoscale.nodes import Node
from core.autoscale.pods import Pod
from core.autoscale.reasons import PodReason
from core.autoscale.scale_up import ScaleUp
from tests.unit.autoscale.builders import NOW, node, pool
from tests.unit.autoscale.strategies import clusters, pod_groups, shuffled

PLACED = (PodReason.FITS_EXISTING, PodReason.FITS_UPCOMING, PodReason.TRIGGERED)
thorough = settings(max_examples=120, deadline=None)


def decided(seen: Cluster) -> ScaleUp:
    return ScaleUp(seen, Board(seen, NOW), NOW)


@thorough
@given(clusters())
def test_sizes_stay_within_bounds(seen: Cluster) -> None:
    by_name = {one.spec.name: one for one in seen.pools}
    for size in decided(seen).sizes:
        one = by_name[size.pool]
        assert one.spec.min <= size.size <= one.spec.max
        assert size.size - one.target == size.count != 0
        if size.count > 0:
            assert not one.held_back(NOW)
        else:
            assert -size.count <= one.missing


@thorough
@given(clusters())
def test_each_waiting_pod_is_told_one_reason_and_each_new_server_holds_a_pod(seen: Cluster) -> None:
    result = decided(seen)
    assert [verdict.pod for verdict in result.pods] == sorted(p.key for p in seen.pods if not p.node)
    assert all(verdict.message for verdict in result.pods)
    new = {verdict.node for verdict in result.pods if verdict.reason is PodReason.TRIGGERED}
    assert len(new) == sum(size.count for size in result.sizes if size.count > 0)


@thorough
@given(clusters())
def test_a_placed_pod_really_fits(seen: Cluster) -> None:
    """By sums over all that is on the node, not by the bookkeeping of the decision."""
    on: dict[str, list[Pod]] = defaultdict(list)
    for p in seen.pods:
        if p.node and p.priority >= seen.options.priority_cutoff:
            on[p.node].append(p)
    nodes: dict[str, Node] = {n.name: n for n in seen.nodes}
    by_key = {p.key: p for p in seen.pods}
    templates = {one.spec.name: one.template for one in seen.pools}
    new: dict[str, list[Pod]] = defaultdict(list)
    for verdict in decided(seen).pods:
        if verdict.reason in PLACED:
            nodes.setdefault(verdict.node, templates.get(verdict.pool) or seen.nodes[0])
            new[verdict.node].append(by_key[verdict.pod])
    for name, added in new.items():
        target = nodes[name]
        daemons = (
            [] if name in {n.name for n in seen.nodes} else [d for d in seen.daemons if not node_misfit(d, target)]
        )
        held = [*on[name], *daemons, *added]
        for p in added:
            assert node_misfit(p, target) is None
            assert not p.unsupported
            others = [other for other in held if other is not p]
            assert not set(p.ports) & {port for other in others for port in other.ports}
            assert not any(s.selects(o.namespace, dict(o.labels)) for s in p.apart for o in others)
            for resource, amount in p.requests:
                total = sum(dict(h.requests).get(resource, 0) for h in held)
                limit = target.allocatable.get(resource, 16 if resource.startswith("attachable") else 0)
                assert not amount or total <= limit


@thorough
@given(st.data())
def test_the_order_of_the_input_changes_nothing(data: st.DataObject) -> None:
    seen = data.draw(clusters())
    first, second = decided(seen), decided(data.draw(shuffled(seen)))
    assert (first.sizes, first.pods) == (second.sizes, second.pods)


@thorough
@given(clusters())
def test_a_decision_is_enough(seen: Cluster) -> None:
    """With the servers that were decided on their way, the same pods ask for no more of them.

    Spreads are left out: a server that came for another pod is one more node over which they must be even.
    """
    seen = replace(seen, pods=tuple(replace(p, spreads=()) for p in seen.pods))
    sizes = {size.pool: size for size in decided(seen).sizes}
    grown = []
    for one in seen.pools:
        size = sizes.get(one.spec.name)
        count = size.count if size else 0
        # As after the last node was made: nothing that holds the pool back is left to hold.
        grown.append(replace(one, target=one.target + count, booting=one.booting + max(0, count)))
    again = decided(replace(seen, pools=tuple(grown)))
    assert [size for size in again.sizes if size.count > 0] == []


@thorough
@given(clusters())
def test_nobody_waiting_means_nothing_to_buy(seen: Cluster) -> None:
    quiet = replace(seen, pods=tuple(p for p in seen.pods if p.node))
    assert [size for size in decided(quiet).sizes if size.count > 0] == []


@thorough
@given(waiting=pod_groups("w", 12), taken=pod_groups("b", 3), high=st.integers(1, 9))
def test_more_room_never_buys_more_servers(waiting: tuple[Pod, ...], taken: tuple[Pod, ...], high: int) -> None:
    """Of one group and one pool: first fit over several sizes may trade a server for another, as upstream's does."""
    bound = tuple(replace(p, node="n1", unschedulable=False) for p in taken)
    less = Cluster(nodes=(node("n1"),), pods=(*waiting, *bound), pools=(pool("a", high=high),))
    more = replace(less, nodes=(*less.nodes, node("n2")))
    bought = [sum(size.count for size in decided(seen).sizes) for seen in (less, more)]
    assert bought[1] <= bought[0]


@thorough
@given(clusters())
def test_room_for_all_buys_nothing(seen: Cluster) -> None:
    """Except for what no node of this kind can hold at all."""
    plain = tuple(
        replace(p, affinity=None, node_selector=(), volumes=(), ports=(), spreads=(), apart=()) for p in seen.pods
    )
    huge = node("huge", allocatable={"cpu": "1000", "memory": "1000Gi", "pods": "1000"})
    roomy = replace(seen, pods=plain, nodes=(*seen.nodes, huge))
    assert [size for size in decided(roomy).sizes if size.count > 0] == []
