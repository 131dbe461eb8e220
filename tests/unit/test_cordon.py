"""A cordon adds only what is not there, and its undoing takes away only what was added."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from core.cordon import cordon, uncordon
from core.node_keys import NO_LOAD_BALANCER, TO_BE_DELETED
from core.node_sync import LiveNode, NodeChange

LABELS = st.sampled_from([{}, {"a": "b"}, {NO_LOAD_BALANCER: "true"}, {NO_LOAD_BALANCER: "", "a": "b"}])
TAINTS = st.lists(
    st.tuples(st.sampled_from(["a", TO_BE_DELETED]), st.sampled_from(["", "1"]), st.sampled_from(["NoSchedule"])),
    unique_by=lambda taint: taint[0],
)
NODES = st.builds(LiveNode, LABELS, st.just({"note": "theirs"}), TAINTS.map(tuple), st.booleans())
VALUES = st.sampled_from(["", "1764600000"])


def after(node: LiveNode, change: NodeChange | None) -> LiveNode:
    """The node once the change is written."""
    if change is None:
        return node
    labels = {key: value for key, value in (node.labels | change.labels).items() if value is not None}
    notes = {key: text for key, text in (node.annotations | change.annotations).items() if key not in change.dropped}
    taints = node.taints if change.taints is None else change.taints
    cordoned = node.unschedulable if change.unschedulable is None else change.unschedulable
    return LiveNode(labels, notes, taints, cordoned)


@given(NODES, VALUES)
def test_undone_it_is_as_before(node: LiveNode, value: str) -> None:
    done = after(node, cordon(node, "retire-1", value))
    assert done.unschedulable
    assert NO_LOAD_BALANCER in done.labels
    assert not value or any(taint[0] == TO_BE_DELETED for taint in done.taints)
    assert after(done, uncordon(done, "retire-1")) == node


@given(NODES, VALUES)
def test_twice_is_once(node: LiveNode, value: str) -> None:
    done = after(node, cordon(node, "retire-1", value))
    assert cordon(done, "retire-1", value and "1764699999") is None
    undone = after(done, uncordon(done, "retire-1"))
    assert uncordon(undone, "retire-1") is None


@given(NODES, VALUES, VALUES)
def test_an_operation_takes_over_what_the_one_before_left(node: LiveNode, first: str, second: str) -> None:
    left = after(node, cordon(node, "retire-1", first))
    done = after(left, cordon(left, "retire-2", second))
    assert uncordon(done, "retire-1") is None
    assert after(done, uncordon(done, "retire-2")) == node


@given(NODES)
def test_a_taint_that_others_put_in_the_place_of_ours_is_theirs(node: LiveNode) -> None:
    done = after(node, cordon(node, "retire-1", "1764600000"))
    theirs = replace(done, taints=tuple((key, "theirs", effect) for key, _, effect in done.taints))
    assert after(theirs, uncordon(theirs, "retire-1")).taints == theirs.taints
