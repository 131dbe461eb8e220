"""A cluster much of which is not ready is left alone, and says so of every pod and node."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from core.autoscale.decide import decide
from core.autoscale.reasons import NodeReason, PodReason
from tests.unit.autoscale.builders import NOW, cluster, node, pod, pool

# nodes, of which not ready, of which young: is it held?
ROWS = [
    (10, 4, 0, False),
    (10, 5, 0, True),
    (3, 3, 0, False),  # three may always be missing
    (4, 4, 0, True),
    (20, 9, 0, False),
    (20, 10, 0, True),
    (10, 10, 10, False),  # all of them are only starting
    (10, 6, 2, False),
]


@pytest.mark.parametrize(("count", "unready", "young", "held"), ROWS)
def test_both_limits_must_be_passed(count: int, unready: int, young: int, held: bool) -> None:
    nodes = [
        replace(
            node(f"n{number:02}", "a", ready=number >= unready),
            created=NOW - timedelta(minutes=1 if number < young else 60),
        )
        for number in range(count)
    ]
    state = cluster((pool("a", target=count, high=50),), (pod("waits", {"cpu": "4"}),), nodes=tuple(nodes))
    decision = decide(state, NOW)
    assert (PodReason.UNHEALTHY in {verdict.reason for verdict in decision.pods}) == held
    assert ({verdict.reason for verdict in decision.nodes} == {NodeReason.UNHEALTHY}) == held
    if held:
        assert (decision.sizes, decision.removals, decision.unneeded) == ((), (), {})
        assert decision.pods[0].message.startswith(f"{unready} nodes of {count} are not ready: above 3 and 45%")
