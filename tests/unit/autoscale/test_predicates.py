"""Whether a pod fits a node: each rule both ways, on objects as the API has them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.autoscale.fit import how_many, node_misfit, room_misfit
from core.autoscale.groups import Kinds
from core.autoscale.pods import VOLUME_SLOTS, Pod, read_pod
from core.autoscale.quantities import CPU, EPHEMERAL, MEMORY, PODS, amounts, shown, whole
from core.autoscale.reasons import FitReason
from core.autoscale.rooms import Room
from core.autoscale.template import template
from core.calls import ServerType
from core.labels import Effect, Taint
from core.reserved import reserved_for
from tests.unit.autoscale.builders import IN_FSN1, IN_HEL1, REQUIRED, daemon, node, pod, raw_pod, spec


def misfit(asking: Pod, on: Any, *others: Pod) -> FitReason | None:
    """Why a pod does not fit a node that holds others."""
    kinds = Kinds([asking, *others])
    room = Room(on)
    for other in others:
        room.take(other, kinds.of(other))
    found = node_misfit(asking, on) or room_misfit(asking, kinds.of(asking), room, kinds)
    assert (found is None) == (node_misfit(asking, on) is None and how_many(asking, kinds.of(asking), room, kinds) > 0)
    return found.reason if found else None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        ("100m", 1),
        ("1500m", 2),
        ("0.5", 1),
        ("1k", 1000),
        ("1Ki", 1024),
        ("1.5Gi", 3 * 2**29),
        ("1e3", 1000),
        ("2E", 2 * 10**18),
        ("1u", 1),
        ("", None),
        ("Gi", None),
        ("1 Gi", None),
        ("1KI", None),
        ("NaN", None),
    ],
)
def test_quantities(text: str, number: int | None) -> None:
    assert whole(text) == number


def test_cpu_is_counted_in_thousandths() -> None:
    assert amounts({"cpu": "1.5", "memory": "1Mi", "pods": 3}) == ({"cpu": 1500, "memory": 2**20, "pods": 3}, [])
    assert amounts({"cpu": "-1", "memory": "x"}) == ({}, ["cpu", "memory"])
    assert amounts(None) == ({}, [])
    assert [shown(CPU, 1500), shown(MEMORY, 3 * 2**29), shown(EPHEMERAL, 2**20), shown(PODS, 3)] == [
        "1.5",
        "1.50 GiB",
        "1 MiB",
        "3",
    ]


def test_requests_are_what_the_scheduler_counts() -> None:
    """Sidecars run beside the init containers that come after them, and beside the containers."""
    raw = raw_pod("p", {"cpu": "1"}, overhead={"cpu": "50m"})
    raw["spec"]["initContainers"] = [
        {"restartPolicy": "Always", "resources": {"requests": {"cpu": "300m"}}},
        {"resources": {"requests": {"cpu": "2", "memory": "1Gi"}}},
        {"restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}},
    ]
    assert dict(read_pod(raw, {}).requests) == {"cpu": 2350, "memory": 2**30, "pods": 1}
    raw["spec"]["resources"] = {"requests": {"cpu": "5"}}
    assert dict(read_pod(raw, {}).requests)["cpu"] == 5050


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def need(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def apart(labels: dict[str, str], key: str = "kubernetes.io/hostname") -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
    return {"podAntiAffinity": {REQUIRED: [term]}}


CAX21 = ServerType(name="cax21", cores=4, memory_gb=8, disk_gb=80, architecture="arm64")
BY_NAME = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
AFFINITY = FitReason.AFFINITY
TAINT = FitReason.TAINT
GPU = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}

CASES: list[tuple[str, Pod, Any, FitReason | None]] = [
    ("room", pod(), node("n"), None),
    ("cpu", pod("p", {"cpu": "4001m"}), node("n"), FitReason.RESOURCE),
    ("all cpu", pod("p", {"cpu": "4"}), node("n"), None),
    ("memory", pod("p", {"memory": "9Gi"}), node("n"), FitReason.RESOURCE),
    ("ephemeral", pod("p", {"ephemeral-storage": "41Gi"}), node("n"), FitReason.RESOURCE),
    ("pod count", pod(), node("n", allocatable={"pods": "0"}), FitReason.RESOURCE),
    ("extended", pod("p", {"nvidia.com/gpu": "1"}), node("n"), FitReason.RESOURCE),
    ("extended there", pod("p", {"nvidia.com/gpu": "1"}), node("n", allocatable={"nvidia.com/gpu": "1"}), None),
    ("selector", pod(nodeSelector={"disk": "ssd"}), node("n"), FitReason.AFFINITY),
    ("selector met", pod(nodeSelector={"disk": "ssd"}), node("n", labels={"disk": "ssd"}), None),
    ("In", pod(affinity=affinity(need("d", "In", "a", "b"))), node("n", labels={"d": "b"}), None),
    ("In other", pod(affinity=affinity(need("d", "In", "a"))), node("n", labels={"d": "b"}), FitReason.AFFINITY),
    ("In absent", pod(affinity=affinity(need("d", "In", "a"))), node("n"), FitReason.AFFINITY),
    ("NotIn absent", pod(affinity=affinity(need("d", "NotIn", "a"))), node("n"), None),
    ("NotIn", pod(affinity=affinity(need("d", "NotIn", "a"))), node("n", labels={"d": "a"}), FitReason.AFFINITY),
    ("Exists", pod(affinity=affinity(need("d", "Exists"))), node("n"), FitReason.AFFINITY),
    ("Exists met", pod(affinity=affinity(need("d", "Exists"))), node("n", labels={"d": ""}), None),
    ("DoesNotExist", pod(affinity=affinity(need("d", "DoesNotExist"))), node("n"), None),
    ("DoesNotExist not", pod(affinity=affinity(need("d", "DoesNotExist"))), node("n", labels={"d": ""}), AFFINITY),
    ("Gt", pod(affinity=affinity(need("g", "Gt", "4"))), node("n", labels={"g": "5"}), None),
    ("Gt equal", pod(affinity=affinity(need("g", "Gt", "4"))), node("n", labels={"g": "4"}), FitReason.AFFINITY),
    ("Lt", pod(affinity=affinity(need("g", "Lt", "4"))), node("n", labels={"g": "3"}), None),
    ("Lt word", pod(affinity=affinity(need("g", "Lt", "4"))), node("n", labels={"g": "x"}), FitReason.AFFINITY),
    ("name", pod(affinity=affinity(BY_NAME)), node("n1"), None),
    ("other name", pod(affinity=affinity(BY_NAME)), node("n2"), FitReason.AFFINITY),
    ("one of two terms", pod(affinity=affinity(need("d", "Exists"), BY_NAME)), node("n1"), None),
    ("an empty term", pod(affinity=affinity({})), node("n"), FitReason.AFFINITY),
    ("taint", pod(), node("n", taints=[GPU]), FitReason.TAINT),
    ("soft taint", pod(), node("n", taints=[{**GPU, "effect": "PreferNoSchedule"}]), None),
    ("tolerated", pod(tolerations=[{"key": "gpu", "value": "yes"}]), node("n", taints=[GPU]), None),
    ("other value", pod(tolerations=[{"key": "gpu", "value": "no"}]), node("n", taints=[GPU]), FitReason.TAINT),
    ("any value", pod(tolerations=[{"key": "gpu", "operator": "Exists"}]), node("n", taints=[GPU]), None),
    ("everything", pod(tolerations=[{"operator": "Exists"}]), node("n", taints=[GPU], cordoned=True), None),
    ("other effect", pod(tolerations=[{"operator": "Exists", "effect": "NoExecute"}]), node("n", taints=[GPU]), TAINT),
    ("an empty key and no operator", pod(tolerations=[{"value": "yes"}]), node("n", taints=[GPU]), FitReason.TAINT),
    ("cordoned", pod(), node("n", cordoned=True), FitReason.CORDONED),
]  # fmt: skip


@pytest.mark.parametrize(("asking", "on", "reason"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_pod_on_an_empty_node(asking: Pod, on: Any, reason: FitReason | None) -> None:
    assert misfit(asking, on) is reason


def test_what_others_on_the_node_take() -> None:
    assert misfit(pod("p", {"cpu": "2"}), node("n"), pod("q", {"cpu": "3"})) is FitReason.RESOURCE
    assert misfit(pod(ports=(80,)), node("n"), pod("q", ports=(80,))) is FitReason.PORT
    assert misfit(pod(ports=(80,)), node("n"), pod("q", ports=(81,))) is None


def test_host_ports_of_two_addresses_do_not_clash() -> None:
    def at(address: str) -> Pod:
        raw = raw_pod("p", ports=(80,))
        raw["spec"]["containers"][0]["ports"][0]["hostIP"] = address
        return read_pod(raw, {})

    assert misfit(at("10.0.0.1"), node("n"), at("10.0.0.2")) is None
    assert misfit(at("10.0.0.1"), node("n"), at("0.0.0.0")) is FitReason.PORT


def test_anti_affinity_holds_both_ways() -> None:
    lonely, other = pod("p", affinity=apart({"app": "web"})), pod("q", labels={"app": "web"})
    assert misfit(lonely, node("n"), other) is FitReason.ANTI_AFFINITY
    assert misfit(other, node("n"), lonely) is FitReason.ANTI_AFFINITY
    elsewhere = pod("q", labels={"app": "web"}, namespace="other")
    assert misfit(lonely, node("n"), elsewhere) is None


def test_a_volume_binds_a_pod_to_its_location() -> None:
    claim = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    here = pod(volumes=claim, volumes_of={"default/data": IN_HEL1})
    assert misfit(here, node("n")) is None
    assert misfit(pod(volumes=claim, volumes_of={"default/data": IN_FSN1}), node("n")) is FitReason.VOLUME
    assert misfit(here, node("n"), *[here] * 16) is FitReason.RESOURCE, "a server takes sixteen volumes"
    assert dict(here.requests)[VOLUME_SLOTS] == 1


def spread(key: str) -> list[dict[str, Any]]:
    return [{"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ({"topologySpreadConstraints": spread("topology.kubernetes.io/zone")}, "topology spread by topology"),
        ({"affinity": apart({}, "topology.kubernetes.io/zone")}, "anti-affinity by topology"),
        ({"affinity": {"podAffinity": {REQUIRED: [{}]}}}, "affinity to other pods"),
        ({"volumes": [{"persistentVolumeClaim": {"claimName": "new"}}]}, "claim new, which has no volume yet"),
        ({"affinity": affinity(need("d", "Near", "a"))}, "operator 'Near'"),
        ({"affinity": affinity(need("d", "Gt"))}, "Gt and 0 values"),
        ({"requests": {"cpu": "many"}}, "an amount of cpu"),
        ({"resourceClaims": [{"name": "gpu"}]}, "dynamic resource"),
        ({"schedulerName": "mine"}, "a scheduler of its own"),
    ],
)
def test_what_cannot_be_evaluated_is_said(rest: dict[str, Any], words: str) -> None:
    assert [text for text in pod(**rest).unsupported if words in text]


def test_preferences_restrict_nothing() -> None:
    soft = [{**spread("topology.kubernetes.io/zone")[0], "whenUnsatisfiable": "ScheduleAnyway"}]
    wish = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}
    easy = pod(topologySpreadConstraints=soft, affinity=wish)
    assert (easy.unsupported, easy.spreads) == ((), ())


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_reading_is_total_on_odd_input(data: st.DataObject) -> None:
    """Any part of an object may be of any type."""
    raw = deepcopy(
        raw_pod("p", ports=(80,), tolerations=[{}], affinity={**affinity(need("d", "In", "a")), **apart({"a": "b"})})
    )
    raw["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}, {"persistentVolumeClaim": {"claimName": "c"}}]
    raw["spec"]["topologySpreadConstraints"] = spread("kubernetes.io/hostname")
    place: Any = raw
    while isinstance(place, dict | list) and place:
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(list(keys)))
        if data.draw(st.booleans()) or not isinstance(place[key], dict | list) or not place[key]:
            place[key] = data.draw(json)
            break
        place = place[key]
    read_pod(raw, {})


def test_a_template_tells_what_a_node_of_the_pool_will_be() -> None:
    asked = spec("a", labels={"disk": "ssd"}, taints=[Taint(key="gpu", effect=Effect.NO_SCHEDULE)])
    new = template(asked, CAX21, "a-id")
    kept = reserved_for(CAX21)
    assert new.allocatable[CPU] == 4000 - kept.cpu
    assert new.allocatable[MEMORY] + kept.memory < 7651 * 2**20, "8 GB were seen as 7751 MiB, 100 of them for eviction"
    assert new.allocatable[EPHEMERAL] == 71_280 * 10**6 - kept.disk, "99 % of 80 GB, a tenth of it for eviction"
    wanted = {
        "kubernetes.io/hostname": new.name,
        "kubernetes.io/arch": "arm64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "cax21",
        "topology.kubernetes.io/region": "hel1",
        "topology.kubernetes.io/zone": "hel1",
        "csi.hetzner.cloud/location": "hel1",
        "pools.lbr.dev/pool": "a",
        "disk": "ssd",
    }
    assert wanted.items() <= new.labels.items()
    assert (new.taints, new.pool, new.ready) == (tuple(asked.taints), "a", True)
    measured = template(asked, CAX21, "a-id", {MEMORY: 7 * 2**30})
    assert (measured.allocatable[MEMORY], measured.allocatable[CPU]) == (7 * 2**30, 4000 - kept.cpu)


def test_a_daemon_sets_pod_tolerates_what_its_controller_adds() -> None:
    assert misfit(daemon("logs", {"cpu": "1"}), node("n", cordoned=True)) is None
    assert misfit(daemon("logs", {"cpu": "1"}), node("n", taints=[GPU])) is FitReason.TAINT
