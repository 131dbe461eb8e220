"""What a pool's spec may say: every rule refuses with field, rule and next step, and changes nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.calls import Placement
from core.errors import ErrorBody, FieldRefused, InstanceTypeUnavailable, from_body
from core.labels import Taint, parse_label, parse_taint
from core.names import check_name, machine_name, suggest_name
from core.placement import check_placement
from core.spec import PoolPatch, PoolSpec, check_size, check_spec, differences, patched

BASE = PoolSpec(
    organization="acme",
    cluster="prod",
    name="workers",
    credential="hetzner-prod",
    location="hel1",
    server_type="cx23",
    min=1,
    max=5,
)


@pytest.mark.parametrize(
    ("change", "field", "rule"),
    [
        ({"min": 5, "max": 3}, "--min", "5 is above --max 3"),
        ({"min": -1}, "--min", "-1 is negative"),
        ({"max": -2}, "--max", "-2 is negative"),
        ({"max": 0, "min": 0}, "--max", "0 leaves no room"),
        ({"max": 1001}, "--max", "1001 is above 1000"),
        ({"initial": 9}, "--initial", "9 is outside --min 1 and --max 5"),
        ({"initial": 0}, "--initial", "0 is outside --min 1 and --max 5"),
        ({"scale_down_after": timedelta(seconds=-90)}, "--scale-down-after", "-1m30s is negative"),
        ({"scale_down_after": timedelta(days=7, seconds=1)}, "--scale-down-after", "7d1s is above 7d"),
        ({"scale_down_threshold": -0.1}, "--scale-down-threshold", "-0.1 is not between 0 and 1"),
        ({"scale_down_threshold": 50.0}, "--scale-down-threshold", "50 is not between 0 and 1"),
        ({"scale_down_threshold": float("nan")}, "--scale-down-threshold", "nan is not between 0 and 1"),
        ({"name": "Work_ers"}, "pool", "not a valid name"),
        ({"name": ""}, "pool", "must not be empty"),
        ({"name": "w" * 53}, "pool", "leaves 52 for the pool's name"),
        ({"name": "-a"}, "pool", "not a valid name"),
        ({"location": "hel 1"}, "--location", "not a valid name"),
        ({"labels": {"kubernetes.io/hostname": "x"}}, "--label", "set by the platform"),
        ({"labels": {"node-role.kubernetes.io/worker": ""}}, "--label", "reserved prefix"),
        ({"labels": {"foo.k8s.io/a": "b"}}, "--label", "reserved prefix"),
        ({"labels": {"pools.lbr.dev/pool": "x"}}, "--label", "set by the platform"),
        ({"labels": {"a": "b" * 64}}, "--label", "not a valid value"),
        ({"labels": {"a" * 64: "b"}}, "--label", "not a valid key"),
        ({"labels": {"a": "b\n"}}, "--label", "not a valid value"),
        ({"labels": {"A.b/c": "d"}}, "--label", "not a valid key"),
        ({"labels": {"a": "ä"}}, "--label", "not a valid value"),
        (
            {
                "taints": [
                    Taint(key="a", value="1", effect="NoSchedule"),
                    Taint(key="a", value="2", effect="NoSchedule"),
                ]
            },
            "--taint",
            "a:NoSchedule is given twice",
        ),
        ({"taints": [Taint(key="node-role.kubernetes.io/x", effect="NoExecute")]}, "--taint", "reserved prefix"),
    ],
)
def test_refuses_naming_field_rule_and_next_step(change: dict[str, object], field: str, rule: str) -> None:
    with pytest.raises(FieldRefused) as caught:
        check_spec(BASE.model_copy(update=change))
    assert (caught.value.field, caught.value.exit_code) == (field, 2)
    assert rule in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    "labels",
    [
        {"workload": "batch"},
        {"example.com/a": ""},
        {"node.kubernetes.io/custom": "x"},
        {"a.B_c-1": "Z.9"},
        {"a" * 63: "b" * 63},
    ],
)
def test_accepts_what_kubelet_accepts(labels: dict[str, str]) -> None:
    check_spec(BASE.model_copy(update={"labels": labels}))


@pytest.mark.parametrize(("after", "threshold"), [(timedelta(0), 0.0), (timedelta(days=7), 1.0)])
def test_scale_down_may_be_at_once_or_late_and_off_or_eager(after: timedelta, threshold: float) -> None:
    check_spec(BASE.model_copy(update={"scale_down_after": after, "scale_down_threshold": threshold}))


def test_longest_pool_name_still_fits_its_servers() -> None:
    name = "w" * 52
    check_spec(BASE.model_copy(update={"name": name}))
    assert len(machine_name("prod", name, "id", 3)) == 63


@given(st.text(max_size=80))
def test_suggested_names_are_valid(text: str) -> None:
    check_name("pool", suggest_name(text))


@given(st.uuids(), st.integers(0, 10**6), st.integers(0, 10**6))
def test_machine_names_never_repeat_in_a_pool(pool_id: object, one: int, other: int) -> None:
    names = machine_name("prod", "workers", str(pool_id), one), machine_name("prod", "workers", str(pool_id), other)
    assert (names[0] == names[1]) == (one == other)
    check_name("machine", names[0])


@pytest.mark.parametrize(
    ("text", "taint", "keep"),
    [
        ("dedicated=batch:NoSchedule", Taint(key="dedicated", value="batch", effect="NoSchedule"), True),
        ("gpu:NoExecute", Taint(key="gpu", effect="NoExecute"), True),
        ("gpu:NoExecute-", Taint(key="gpu", effect="NoExecute"), False),
        ("a.b/c=d:PreferNoSchedule", Taint(key="a.b/c", value="d", effect="PreferNoSchedule"), True),
    ],
)
def test_taint_forms(text: str, taint: Taint, keep: bool) -> None:
    assert parse_taint(text) == (taint, keep)


@pytest.mark.parametrize("text", ["", "a", "a=b", "a:noschedule", ":NoSchedule", "a=b:", "a:NoSchedule:x"])
def test_broken_taints_are_refused(text: str) -> None:
    with pytest.raises(FieldRefused, match="--taint"):
        parse_taint(text)


def test_label_forms() -> None:
    assert parse_label("a=b") == ("a", "b")
    assert parse_label("a=b=c") == ("a", "b=c")
    assert parse_label("a=") == ("a", "")
    assert parse_label("a-") == ("a", None)
    with pytest.raises(FieldRefused):
        parse_label("a")


def test_patch_sets_and_removes_by_key() -> None:
    old = BASE.model_copy(
        update={"labels": {"a": "1", "b": "2"}, "taints": [Taint(key="x", effect="NoSchedule")], "initial": 2}
    )
    patch = PoolPatch(
        max=9, labels={"a": None, "c": "3"}, taints=[Taint(key="y", effect="NoExecute")], remove_taints=["x:NoSchedule"]
    )
    new = patched(old, patch)
    assert new.labels == {"b": "2", "c": "3"}
    assert [str(taint) for taint in new.taints] == ["y:NoExecute"]
    assert differences(old, new) == [
        "max: 5 -> 9",
        "labels: a=1,b=2 -> b=2,c=3",
        "taints: x:NoSchedule -> y:NoExecute",
    ]


def test_patch_changes_when_nodes_go() -> None:
    new = patched(BASE, PoolPatch(scale_down_after=timedelta(minutes=5), scale_down_threshold=0.7))
    assert (new.scale_down_after, new.scale_down_threshold) == (timedelta(minutes=5), 0.7)
    assert differences(BASE, new) == ["scale_down_after: 10m -> 5m", "scale_down_threshold: 0.5 -> 0.7"]
    later = patched(new, PoolPatch(scale_down_after=timedelta(0)))
    assert differences(new, later) == ["scale_down_after: 5m -> 0s"]
    assert differences(later, patched(later, PoolPatch(max=6))) == ["max: 5 -> 6"]


def test_same_taint_with_another_value_replaces_it() -> None:
    old = patched(BASE, PoolPatch(taints=[Taint(key="x", value="1", effect="NoSchedule")]))
    new = patched(old, PoolPatch(taints=[Taint(key="x", value="2", effect="NoSchedule")]))
    assert [str(taint) for taint in new.taints] == ["x=2:NoSchedule"]


def test_patch_that_breaks_a_rule_is_refused_whole() -> None:
    with pytest.raises(FieldRefused, match="--min: 7 is above --max 5"):
        patched(BASE, PoolPatch(min=7, labels={"a": "b"}))
    with pytest.raises(FieldRefused, match="--scale-down-threshold: 2 is not between 0 and 1"):
        patched(BASE, PoolPatch(max=6, scale_down_threshold=2))


def test_size_must_be_inside_the_bounds() -> None:
    check_size(BASE, 5)
    with pytest.raises(FieldRefused, match="size: 6 is outside"):
        check_size(BASE, 6)


PLACEMENT = Placement(known_locations=["hel1", "ash"], known_types=["cx23"], sold_in=["hel1"])


def test_placement_names_who_sells_it() -> None:
    check_placement("hel1", "cx23", PLACEMENT)
    with pytest.raises(InstanceTypeUnavailable, match="cx23 is not offered in ash") as caught:
        check_placement("ash", "cx23", PLACEMENT)
    assert "hel1" in caught.value.hint
    with pytest.raises(FieldRefused, match="--location") as unknown:
        check_placement("mars", "cx23", PLACEMENT)
    assert "ash, hel1" in unknown.value.hint
    with pytest.raises(FieldRefused, match="--server-type"):
        check_placement("hel1", "cx99", PLACEMENT)


def test_errors_survive_the_way_through_temporal() -> None:
    for error in (FieldRefused("--min", "x", hint="y"), InstanceTypeUnavailable("--server-type", "x", hint="y")):
        again = from_body(ErrorBody.model_validate(error.body().model_dump()))
        assert (type(again), again.message, again.hint) == (type(error), error.message, error.hint)
