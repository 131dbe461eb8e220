"""Writing and reading objects: conflicts, patches, preconditions, finalizers, grace, selectors, pages."""

import json
from typing import Any

import aiohttp
import pytest
from kubernetes.aio import client

from tests.cluster_world import World, eventually

POD = {"spec": {"containers": [{"name": "c", "image": "i:1"}]}}


async def error_of(call: Any) -> dict[str, Any]:
    with pytest.raises(client.ApiException) as caught:
        await call
    body: dict[str, Any] = json.loads(caught.value.body)
    assert body["code"] == caught.value.status
    return body


async def a_node(world: World, name: str = "n1", **spec: Any) -> Any:
    return await world.core.create_node({"metadata": {"name": name, "labels": {"pool": "a"}}, "spec": spec})


async def test_a_stale_write_conflicts(world: World) -> None:
    old = await a_node(world)
    await world.core.patch_node("n1", {"metadata": {"labels": {"x": "y"}}})
    error = await error_of(world.core.replace_node("n1", old))
    assert (error["code"], error["reason"]) == (409, "Conflict")
    assert "please apply your changes to the latest version" in error["message"]


async def test_a_write_without_change_keeps_the_version(world: World) -> None:
    await world.core.create_namespaced_config_map("default", {"metadata": {"name": "m"}, "data": {"a": "b"}})
    before = await world.core.read_namespaced_config_map("m", "default")
    after = await world.core.patch_namespaced_config_map("m", "default", {"data": {"a": "b"}})
    assert after.metadata.resource_version == before.metadata.resource_version


async def test_a_lease_needs_its_version_to_be_replaced(world: World) -> None:
    leases = client.CoordinationV1Api(world.api)
    body = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "x"}}
    await leases.create_namespaced_lease("default", body)
    error = await error_of(leases.replace_namespaced_lease("l", "default", body))
    assert (error["code"], error["reason"]) == (422, "Invalid")


async def test_a_patch_with_one_taint_replaces_them_all(world: World) -> None:
    await a_node(world, taints=[{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute"}])
    patched = await world.core.patch_node("n1", {"spec": {"taints": [{"key": "c", "effect": "NoExecute"}]}})
    assert [taint.key for taint in patched.spec.taints] == ["c"]


async def test_a_json_patch_can_test_before_it_writes(world: World) -> None:
    node = await a_node(world)
    version = {"op": "test", "path": "/metadata/resourceVersion", "value": "1"}
    label = {"op": "add", "path": "/metadata/labels/x", "value": "y"}
    assert (await error_of(world.core.patch_node("n1", [version, label])))["code"] == 422
    current = (await world.core.read_node(node.metadata.name)).metadata.resource_version
    patched = await world.core.patch_node("n1", [version | {"value": current}, label])
    assert patched.metadata.labels["x"] == "y"


async def test_a_merge_patch_deletes_with_null(world: World) -> None:
    await a_node(world)
    patched = await world.core.patch_node(
        "n1", {"metadata": {"labels": {"pool": None}}}, _content_type="application/merge-patch+json"
    )
    assert not patched.metadata.labels


async def test_a_strategic_patch_merges_conditions_by_type(world: World) -> None:
    await world.core.create_namespaced_pod("default", POD | {"metadata": {"name": "p"}})
    for type_ in ("One", "Two"):
        status = {"conditions": [{"type": type_, "status": "True"}]}
        await world.core.patch_namespaced_pod_status("p", "default", {"status": status})
    pod = await world.core.read_namespaced_pod("p", "default")
    assert {"One", "Two"} <= {c.type for c in pod.status.conditions}


async def test_spec_and_status_are_written_apart(world: World) -> None:
    await a_node(world)
    patch = {"spec": {"unschedulable": True}, "status": {"phase": "Running"}}
    by_status = await world.core.patch_node_status("n1", patch)
    assert (by_status.spec.unschedulable, by_status.status.phase) == (None, "Running")
    by_spec = await world.core.patch_node("n1", {"spec": {"unschedulable": True}, "status": {"phase": "x"}})
    assert (by_spec.spec.unschedulable, by_spec.status.phase) == (True, "Running")


@pytest.mark.parametrize(
    ("taints", "message"),
    [
        ([{"key": "a", "effect": "NoSchedule"}] * 2, "Duplicate value"),
        ([{"key": "a", "effect": "Maybe"}], "Unsupported value"),
        ([{"key": "a b", "effect": "NoSchedule"}], "Invalid value"),
    ],
)
async def test_bad_taints_are_refused(world: World, taints: list[dict[str, str]], message: str) -> None:
    error = await error_of(world.core.create_node({"metadata": {"name": "n"}, "spec": {"taints": taints}}))
    assert (error["code"], error["reason"]) == (422, "Invalid")
    assert message in error["message"]


async def test_a_provider_id_is_set_once(world: World) -> None:
    await a_node(world)
    await world.core.patch_node("n1", {"spec": {"providerID": "hcloud://1"}})
    error = await error_of(world.core.patch_node("n1", {"spec": {"providerID": "hcloud://2"}}))
    assert (error["code"], error["details"]["causes"][0]["reason"]) == (422, "FieldValueForbidden")


async def test_a_new_node_is_tainted_until_it_is_ready(world: World) -> None:
    node = await a_node(world)
    assert [(t.key, t.effect) for t in node.spec.taints] == [("node.kubernetes.io/not-ready", "NoSchedule")]


async def test_deletes_hold_to_the_uid(world: World) -> None:
    await a_node(world)
    wrong = {"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}}
    error = await error_of(world.core.delete_node("n1", body=wrong))
    assert error["code"] == 409
    assert "the UID in the precondition (0000" in error["message"]


async def test_finalizers_keep_an_object(world: World) -> None:
    await world.core.create_namespaced_config_map("default", {"metadata": {"name": "m", "finalizers": ["x/y"]}})
    await world.core.delete_namespaced_config_map("m", "default")
    kept = await world.core.read_namespaced_config_map("m", "default")
    assert kept.metadata.deletion_timestamp is not None
    await world.core.patch_namespaced_config_map(
        "m", "default", {"metadata": {"finalizers": None}}, _content_type="application/merge-patch+json"
    )
    assert (await error_of(world.core.read_namespaced_config_map("m", "default")))["code"] == 404


async def test_a_dry_run_keeps_nothing(world: World) -> None:
    made = await world.core.create_node({"metadata": {"name": "n1"}}, dry_run="All")
    assert made.metadata.uid
    assert (await error_of(world.core.read_node("n1")))["reason"] == "NotFound"


async def test_secrets_take_text_and_give_base64(world: World) -> None:
    made = await world.core.create_namespaced_secret("default", {"metadata": {"name": "s"}, "stringData": {"a": "b"}})
    assert made.data == {"a": "Yg=="}
    body = {"metadata": {"name": "t"}, "data": {"a": "no base64!"}}
    assert (await error_of(world.core.create_namespaced_secret("default", body)))["code"] == 400


async def test_names_are_generated_and_taken_once(world: World) -> None:
    body = {"metadata": {"generateName": "m-"}}
    made = await world.core.create_namespaced_config_map("default", body)
    assert made.metadata.name.startswith("m-")
    again = {"metadata": {"name": made.metadata.name}}
    error = await error_of(world.core.create_namespaced_config_map("default", again))
    assert error["reason"] == "AlreadyExists"


async def test_lists_select_by_labels_and_fields(world: World) -> None:
    for name, pool in (("n1", "a"), ("n2", "b"), ("n3", "b")):
        await world.core.create_node({"metadata": {"name": name, "labels": {"pool": pool}}})
    await world.core.patch_node("n3", {"spec": {"unschedulable": True}})

    async def names(**selectors: str) -> list[str]:
        return [node.metadata.name for node in (await world.core.list_node(**selectors)).items]

    assert await names(label_selector="pool in (b, c)") == ["n2", "n3"]
    assert await names(label_selector="pool!=b") == ["n1"]
    assert await names(label_selector="!pool") == []
    assert await names(label_selector="pool=b", field_selector="spec.unschedulable=false") == ["n2"]
    error = await error_of(world.core.list_node(field_selector="spec.podCIDR=x"))
    assert error["code"] == 400
    assert "field label not supported: spec.podCIDR" in error["message"]


async def test_lists_come_in_pages(world: World) -> None:
    for number in range(5):
        await world.core.create_node({"metadata": {"name": f"n{number}"}})
    first = await world.core.list_node(limit=2)
    assert [n.metadata.name for n in first.items] == ["n0", "n1"]
    assert first.metadata.remaining_item_count == 3
    second = await world.core.list_node(limit=3, _continue=first.metadata._continue)
    assert [n.metadata.name for n in second.items] == ["n2", "n3", "n4"]
    assert not second.metadata._continue


async def test_items_of_a_list_carry_no_kind(world: World) -> None:
    await a_node(world)
    raw = await (await world.core.list_node_without_preload_content()).read()
    listed = json.loads(raw)
    assert (listed["kind"], listed["apiVersion"]) == ("NodeList", "v1")
    assert "kind" not in listed["items"][0]


async def test_a_deleted_namespace_takes_its_objects_along(world: World) -> None:
    await world.core.create_namespace({"metadata": {"name": "team"}})
    await world.core.create_namespaced_config_map("team", {"metadata": {"name": "m", "finalizers": ["x/y"]}})
    await world.core.delete_namespace("team")
    assert (await world.core.read_namespace("team")).status.phase == "Terminating"
    error = await error_of(world.core.create_namespaced_config_map("team", {"metadata": {"name": "n"}}))
    assert error["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    await world.core.patch_namespaced_config_map(
        "m", "team", {"metadata": {"finalizers": None}}, _content_type="application/merge-patch+json"
    )

    async def gone() -> bool:
        return all(n.metadata.name != "team" for n in (await world.core.list_namespace()).items)

    await eventually(gone)


CONTAINER = {"name": "c", "image": "i:1"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/v1/nodes", [1]),
        ("/api/v1/nodes", {"metadata": {"name": 1}}),
        ("/api/v1/nodes", {"metadata": {"name": "a", "labels": [1]}}),
        ("/api/v1/nodes", {"metadata": {"name": "a"}, "spec": {"taints": "x"}}),
        ("/api/v1/nodes", {"metadata": {"name": "a"}, "spec": {"taints": [1]}}),
        ("/api/v1/nodes", {"metadata": {"name": "a"}, "status": {"capacity": {"cpu": "many"}}}),
        ("/api/v1/nodes", {"metadata": {"name": "a"}, "kind": "Pod"}),
        ("/api/v1/nodes", {"metadata": {"name": "a"}, "apiVersion": "v2"}),
        ("/api/v1/namespaces/default/pods", {"metadata": {"name": "a"}, "spec": {"containers": "x"}}),
        ("/api/v1/namespaces/default/pods/p/eviction", {"metadata": []}),
        ("/api/v1/namespaces/default/secrets", {"metadata": {"name": "a"}, "stringData": {"a": 1}}),
        ("/apis/apps/v1/namespaces/default/deployments", {"metadata": {"name": "a"}, "spec": {"replicas": "3"}}),
        ("/apis/coordination.k8s.io/v1/namespaces/default/leases", {"spec": {"renewTime": "yesterday"}}),
        (
            "/api/v1/namespaces/default/pods?fieldValidation=Strict",
            {"metadata": {"name": "a"}, "spec": {"containers": [CONTAINER], "nodename": "typo"}},
        ),
    ],
)
async def test_bodies_of_the_wrong_shape_are_refused(world: World, path: str, body: Any) -> None:
    headers = {"Authorization": f"Bearer {world.token}"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.post(world.url + path, json=body, ssl=False) as answer,
    ):
        assert (answer.status, (await answer.json())["reason"]) == (400, "BadRequest")


async def test_unknown_fields_are_dropped_unless_strict(world: World) -> None:
    await a_node(world)
    typo = {"spec": {"unscheduleable": True, "podCIDR": "10.42.0.0/24"}}
    patched = await world.core.patch_node("n1", typo)
    assert patched.spec.pod_cidr == "10.42.0.0/24"
    assert "unscheduleable" not in await world.run("get", "node", "n1", "-o", "json")
    error = await error_of(world.core.patch_node("n1", typo, field_validation="Strict"))
    assert 'unknown field "spec.unscheduleable"' in error["message"]


async def test_both_event_apis_show_the_same_events(world: World) -> None:
    about = {"kind": "Node", "name": "n1"}
    body = {"metadata": {"name": "e"}, "involvedObject": about, "reason": "Drained", "message": "gone"}
    body |= {"action": "Drain", "type": "Normal", "reportingComponent": "x", "reportingInstance": "x-1"}
    # The client writes a time without its microseconds where these are zero, which a server refuses.
    body["eventTime"] = "2026-01-01T00:00:00.000001Z"
    await world.core.create_namespaced_event("default", body)
    found = await client.EventsV1Api(world.api).read_namespaced_event("e", "default")
    assert (found.note, found.regarding.name) == ("gone", "n1")
    events = client.EventsV1Api(world.api)
    error = await error_of(events.patch_namespaced_event("e", "default", {"note": "back"}))
    assert error["message"] == 'Event "e" is invalid: message: Invalid value: "back": field is immutable'
    series = {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000001Z"}
    await events.patch_namespaced_event("e", "default", {"series": series})
    assert (await world.core.read_namespaced_event("e", "default")).series.count == 2
    selected = await world.core.list_event_for_all_namespaces(field_selector="involvedObject.name=n1")
    assert [event.reason for event in selected.items] == ["Drained"]
