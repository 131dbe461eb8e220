"""What is read of a cluster's objects, what of their volumes is known, and that nothing is read twice."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from activities.cluster_objects import (
    Asked,
    Change,
    Claim,
    Objects,
    read_budget,
    read_claim,
    read_class,
    read_replicas,
    read_volume,
    volumes_of,
)
from core.autoscale.pods import Volume, read_pod
from core.autoscale.selectors import NodeTerm, Operator, Requirement

Json = dict[str, Any]


def named(name: str, version: int = 1, **rest: Any) -> Json:
    return {"metadata": {"namespace": "shop", "name": name, "resourceVersion": str(version)}, **rest}


class Kept:
    """Objects as their values, with what was read and what was told."""

    def __init__(self) -> None:
        self.read: list[str] = []
        self.told: list[Change[int]] = []
        self.objects = Objects(self._read, self.told.extend)

    def _read(self, raw: Json) -> int | None:
        self.read.append(raw["metadata"]["name"])
        value: int | None = raw["value"]
        return value

    def list(self, *items: Json, whole: bool = True) -> None:
        self.objects.begin()
        self.objects.page([msgspec.Raw(msgspec.json.encode(item)) for item in items])
        if whole:
            self.objects.complete()


def test_an_object_is_read_again_only_when_it_has_changed() -> None:
    kept = Kept()
    kept.list(named("a", value=1), named("b", value=2))
    kept.objects.changed("MODIFIED", named("b", 2, value=3))
    kept.read.clear()
    kept.told.clear()
    kept.list(named("a", value=1), named("b", 2, value=3), named("c", value=4))
    assert kept.read == ["c"]
    assert kept.told == [(None, 4)]
    assert kept.objects.known == {"shop/a": 1, "shop/b": 3, "shop/c": 4}


def test_what_a_list_lacks_is_gone_and_may_come_again_as_it_was() -> None:
    kept = Kept()
    kept.list(named("a", value=1), named("b", value=2))
    kept.list(named("b", value=2))
    assert kept.objects.known == {"shop/b": 2}
    kept.objects.changed("DELETED", named("b", 5, value=2))
    kept.objects.changed("DELETED", named("never-seen", 6, value=2))
    assert kept.objects.known == {}
    kept.list(named("a", value=1))
    assert kept.objects.known == {"shop/a": 1}


def test_a_list_that_was_broken_off_proves_nothing() -> None:
    kept = Kept()
    kept.list(named("a", value=1))
    kept.told.clear()
    kept.list(named("b", value=2), whole=False)
    assert (kept.objects.known, kept.told) == ({"shop/a": 1}, [])
    kept.list(named("a", value=1), named("c", value=3))
    assert kept.objects.known == {"shop/a": 1, "shop/c": 3}


def test_a_change_that_is_none_for_decisions_is_not_told() -> None:
    kept = Kept()
    kept.list(named("a", value=1))
    kept.told.clear()
    kept.objects.changed("MODIFIED", named("a", 2, value=1))
    assert kept.told == []
    kept.objects.changed("MODIFIED", named("a", 3, value=None))
    assert (kept.told, kept.objects.known) == ([(1, None)], {})


def test_a_list_under_way_does_not_bring_back_what_was_read_with_older_knowledge() -> None:
    kept = Kept()
    kept.list(named("a", value=1))
    kept.list(named("a", value=1), named("b", value=2), whole=False)
    kept.objects.reread(lambda value: value * 10)
    kept.objects.complete()
    assert kept.objects.known == {"shop/a": 10, "shop/b": 20}


@pytest.mark.parametrize(
    ("selector", "labels", "selects"),
    [
        ({"matchLabels": {"app": "web"}}, {"app": "web"}, True),
        ({"matchLabels": {"app": "web"}}, {"app": "db"}, False),
        ({}, {"app": "db"}, True),
    ],
)
def test_a_budget_means_the_pods_of_its_namespace_that_it_selects(
    selector: Json, labels: dict[str, str], selects: bool
) -> None:
    budget = read_budget(named("web", spec={"selector": selector}, status={"disruptionsAllowed": 2}))
    assert budget is not None
    assert (budget.allowed, budget.selector.selects("shop", labels)) == (2, selects)
    assert not budget.selector.selects("other", labels)


def test_a_budget_without_a_selector_means_no_pod_and_one_without_a_status_allows_nothing() -> None:
    assert read_budget(named("web", spec={})) is None
    fresh = read_budget(named("web", spec={"selector": {}}))
    assert fresh is not None
    assert fresh.allowed == 0


@pytest.mark.parametrize(
    ("spec", "replicas"), [({"replicas": 3}, 3), ({"replicas": 0}, 0), ({"parallelism": 4}, 4), ({}, 1)]
)
def test_what_a_controller_wants(spec: Json, replicas: int) -> None:
    assert read_replicas(named("web", spec=spec)) == replicas


HEL1 = {"key": "csi.hetzner.cloud/location", "operator": "In", "values": ["hel1"]}
IN_HEL1 = (NodeTerm((Requirement("csi.hetzner.cloud/location", Operator.IN, ("hel1",)),)),)


def test_a_volume_says_where_it_can_be_attached_and_by_whom() -> None:
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [HEL1]}]}}
    csi = {"driver": "csi.hetzner.cloud"}
    assert read_volume(named("v", spec={"csi": csi, "nodeAffinity": affinity})) == Volume(IN_HEL1, "csi.hetzner.cloud")
    assert read_volume(named("v", spec={"nfs": {}})) == Volume()
    strange = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{**HEL1, "operator": "Near"}]}]}}
    assert read_volume(named("v", spec={"nodeAffinity": strange})) is None


def test_a_class_is_known_before_its_volumes_only_where_they_are_made_for_a_pod() -> None:
    late = {"volumeBindingMode": "WaitForFirstConsumer", "provisioner": "csi.hetzner.cloud"}
    assert read_class(named("c", **late)) == Volume((), "csi.hetzner.cloud")
    topologies = [{"matchLabelExpressions": [{"key": HEL1["key"], "values": HEL1["values"]}]}]
    assert read_class(named("c", **late, allowedTopologies=topologies)) == Volume(IN_HEL1, "csi.hetzner.cloud")
    assert read_class(named("c", **{**late, "volumeBindingMode": "Immediate"})) is None
    assert read_class(named("c", **{**late, "provisioner": "kubernetes.io/no-provisioner"})) is None


BOUND, MADE_LATE = Volume(IN_HEL1, "csi.hetzner.cloud"), Volume((), "csi.hetzner.cloud")


@pytest.mark.parametrize(
    ("claim", "known"),
    [
        (Claim("v", bound=True, storage_class="late"), BOUND),
        (Claim("not-seen-yet", bound=True, storage_class="late"), None),
        (Claim("", bound=False, storage_class="late"), MADE_LATE),
        (Claim("", bound=False, storage_class="at-once"), None),
        (Claim("", bound=False, storage_class=""), None),
        (Claim("v", bound=False, storage_class="late"), None),
    ],
)
def test_a_claims_volume_is_known_where_the_scheduler_would_know_it(claim: Claim, known: Volume | None) -> None:
    found = volumes_of({"shop/data": claim}, {"v": BOUND}, {"late": MADE_LATE})
    assert found.get("shop/data") == known


def test_a_claim_is_read_with_its_phase() -> None:
    spec = {"volumeName": "v", "storageClassName": "late"}
    assert read_claim(named("data", spec=spec, status={"phase": "Bound"})) == Claim("v", True, "late")
    assert read_claim(named("data", spec=spec, status={"phase": "Lost"})) == Claim("v", False, "late")


def test_the_claims_that_a_pod_rests_on_are_noted_also_those_of_which_nothing_is_known() -> None:
    volumes = [
        {"name": "disk", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}},
        {"name": "config", "configMap": {"name": "c"}},
    ]
    asked = Asked({"shop/data": BOUND})
    pod = read_pod(named("db-0", spec={"volumes": volumes}), asked)
    assert asked.claims == {"shop/data", "shop/db-0-scratch"}
    assert pod.volumes == (IN_HEL1,)
    assert pod.unsupported == ("the claim db-0-scratch, which has no volume yet",)
