"""The three-way reconciliation: it converges, removes what it put there, and never touches what is not ours."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.labels import Effect, Taint
from core.node_sync import LiveNode, NodeChange, change_for, in_step

KEYS = st.sampled_from(["a", "b", "c", "d"])
VALUES = st.sampled_from(["", "1", "2"])
LABELS = st.dictionaries(KEYS, VALUES)
EFFECTS = st.sampled_from(list(Effect))
TAINTS = st.dictionaries(st.tuples(KEYS, EFFECTS), VALUES).map(
    lambda found: [Taint(key=key, effect=effect, value=value) for (key, effect), value in found.items()]
)

Spec = tuple[dict[str, str], list[Taint]]
SPECS = st.tuples(LABELS, TAINTS)


def node(labels: dict[str, str], taints: list[Taint]) -> LiveNode:
    return LiveNode(labels, {}, tuple((taint.key, taint.value, taint.effect.value) for taint in taints))


def after(live: LiveNode, change: NodeChange | None) -> LiveNode:
    """The node once the change is written."""
    if change is None:
        return live
    labels = {key: value for key, value in (live.labels | change.labels).items() if value is not None}
    taints = live.taints if change.taints is None else change.taints
    return LiveNode(labels, live.annotations | change.annotations, taints)


def synced(live: LiveNode, labels: dict[str, str], taints: list[Taint]) -> LiveNode:
    return after(live, change_for(live, labels, taints))


@given(SPECS, SPECS)
def test_one_change_brings_a_node_into_step(before: Spec, wanted: Spec) -> None:
    done = synced(node(*before), *wanted)
    labels, taints = wanted
    assert in_step(done, labels, taints)
    assert labels.items() <= done.labels.items()
    assert {(taint.key, taint.value, taint.effect.value) for taint in taints} <= set(done.taints)


@given(SPECS, SPECS, SPECS)
def test_a_new_spec_removes_what_the_old_one_put_there_and_nothing_else(before: Spec, old: Spec, new: Spec) -> None:
    first = synced(node(*before), *old)
    done = synced(first, *new)
    assert done.labels == {key: value for key, value in before[0].items() if key not in old[0]} | new[0]
    ours = {taint.identity for taint in (*old[1], *new[1])}
    others = {taint for taint in first.taints if f"{taint[0]}:{taint[2]}" not in ours}
    assert set(done.taints) == others | {(taint.key, taint.value, taint.effect.value) for taint in new[1]}


@given(SPECS, SPECS)
def test_a_taint_s_key_and_effect_is_never_there_twice(before: Spec, wanted: Spec) -> None:
    done = synced(node(*before), *wanted)
    identities = [(key, effect) for key, _, effect in done.taints]
    assert len(identities) == len(set(identities))


def test_the_summary_names_what_was_set_and_removed() -> None:
    batch = Taint(key="dedicated", value="batch", effect=Effect.NO_SCHEDULE)
    first = synced(node({}, []), {"old": "1"}, [batch])
    change = change_for(first, {"new": "2"}, [])
    assert change is not None
    assert change.summary == "label new=2, label old removed, taint dedicated:NoSchedule removed"
