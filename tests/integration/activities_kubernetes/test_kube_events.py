"""Events are where users look for them, the same is one event, and no trouble with them reaches whoever tells them."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from activities.cordon import CordonActivities
from activities.kube_events import QUEUED, EventWriter
from core import autoscale_calls
from core.kube_events import About, AboutKind, EventReason
from sandbox.kubernetes.faults import ApiFault
from tests.cluster_world import eventually
from tests.integration.activities_kubernetes.kube_stage import CLUSTER, Stage

EVENTS = "/api/v1/namespaces/*/events*"
WHY = "pool a, a new node: cpu 64 is asked and 4 of 4 is free"


async def pod(stage: Stage, name: str = "web-0", namespace: str = "default") -> About:
    body = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    made = await stage.world.core.create_namespaced_pod(namespace, body)
    return About(AboutKind.POD, name, made.metadata.uid, namespace)


def tell(stage: Stage, about: About, message: str = WHY, writer: EventWriter | None = None) -> None:
    (writer or stage.events).tell(CLUSTER, about, EventReason.NOT_TRIGGERED, message)


async def ours(stage: Stage, count: int = 1, said: int = 1) -> list[Any]:
    """Our events, the latest last, once there are so many, and that one was said so often."""

    async def found() -> list[Any]:
        listed = (await stage.world.core.list_event_for_all_namespaces()).items
        events = sorted(
            (e for e in listed if e.source.component == "node-pools"), key=lambda event: event.last_timestamp
        )
        return events if len(events) == count and events[-1].count == said else []

    return await eventually(found)


async def test_describe_shows_what_was_said_of_a_pod_and_how_often(stage: Stage) -> None:
    about = await pod(stage)
    for count in (1, 2, 3):
        tell(stage, about)
        await ours(stage, said=count)
    shown = await stage.world.run("describe", "pod", "web-0")
    line = next(line for line in shown.splitlines() if "NotTriggerScaleUp" in line)
    assert line.split()[0] == "Normal"
    assert "(x3 over " in line
    assert "node-pools" in line
    assert line.endswith(WHY)
    listed = await stage.world.run("get", "events", "--field-selector", "reason=NotTriggerScaleUp")
    assert listed.splitlines()[1].split()[1:4] == ["Normal", "NotTriggerScaleUp", "pod/web-0"]


async def test_what_is_said_again_while_it_waits_is_written_once(stage: Stage) -> None:
    about = await pod(stage)
    for _ in range(3):
        tell(stage, about)
    await ours(stage, said=3)


async def test_another_message_is_another_event(stage: Stage) -> None:
    about = await pod(stage)
    for message in ("a", "b"):
        tell(stage, about, message)
    await ours(stage, count=2)


async def test_the_same_of_a_pod_made_anew_is_another_event(stage: Stage) -> None:
    about = await pod(stage)
    tell(stage, about)
    tell(stage, About(AboutKind.POD, about.name, "another-uid", about.namespace))
    await ours(stage, count=2)


@pytest.mark.parametrize("known", [True, False], ids=["uid", "no uid"])
async def test_describe_shows_what_was_said_of_a_node(stage: Stage, known: bool) -> None:
    uid = (await stage.world.ready_node(1)).metadata.uid
    about = About(AboutKind.NODE, "pool-1", uid if known else "")
    stage.events.tell(CLUSTER, about, EventReason.SCALE_DOWN, "the node goes")
    (event,) = await ours(stage)
    assert event.metadata.namespace == "default"
    assert "the node goes" in await stage.world.run("describe", "node", "pool-1")


async def test_a_node_that_stays_after_all_says_why(stage: Stage) -> None:
    uid = (await stage.world.ready_node(1)).metadata.uid
    call = autoscale_calls.UncordonNode(
        cluster=CLUSTER, machine="pool-1", node_uid=uid, operation_id="retire-1", why="default/web-0 came to it"
    )
    await stage.run(CordonActivities(stage.apis, stage.events).uncordon_node, call)
    await ours(stage)
    shown = await stage.world.run("describe", "node", "pool-1")
    line = next(line for line in shown.splitlines() if "ScaleDownFailed" in line)
    assert line.split()[0] == "Warning"
    assert line.endswith("default/web-0 came to it")


async def test_an_event_that_is_no_longer_there_is_made_anew(stage: Stage) -> None:
    about = await pod(stage)
    tell(stage, about)
    (event,) = await ours(stage)
    await stage.world.core.delete_namespaced_event(event.metadata.name, "default")
    tell(stage, about)
    (again,) = await ours(stage)
    assert again.metadata.name != event.metadata.name


async def test_after_an_hour_the_same_is_a_new_event(stage: Stage) -> None:
    about = await pod(stage)
    now = datetime(2026, 12, 1, 12, tzinfo=UTC)
    writer = EventWriter(stage.apis, lambda: now)
    tell(stage, about, writer=writer)
    (event,) = await ours(stage)
    assert event.first_timestamp == now
    now += timedelta(minutes=59)
    tell(stage, about, writer=writer)
    (event,) = await ours(stage, said=2)
    assert (event.first_timestamp, event.last_timestamp) == (now - timedelta(minutes=59), now)
    now += timedelta(minutes=60)
    tell(stage, about, writer=writer)
    await ours(stage, count=2, said=1)
    await writer.close()


async def test_long_texts_are_cut_and_names_of_any_length_have_events(stage: Stage) -> None:
    about = await pod(stage, ".".join(["a" * 60] * 4) + "-b")
    tell(stage, about, "x" * 5000)
    (event,) = await ours(stage)
    assert event.message == "x" * 1023 + "…"
    assert event.involved_object.name == about.name


async def test_writes_are_no_more_than_twenty_a_second(stage: Stage) -> None:
    about, begun = await pod(stage), time.monotonic()
    for number in range(31):
        tell(stage, about, f"message {number}")
    assert time.monotonic() - begun < 0.5, "to tell is not to wait"
    await ours(stage, count=31)
    assert time.monotonic() - begun >= 1.5


async def test_what_waits_is_written_before_the_end(stage: Stage) -> None:
    about = await pod(stage)
    for number in range(5):
        tell(stage, about, f"message {number}")
    await stage.events.close()
    tell(stage, about, "too late")
    await ours(stage, count=5)


async def test_what_is_refused_is_logged_once_and_hinders_nothing(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    about = await pod(stage)
    elsewhere = About(AboutKind.POD, "p", "some-uid", "no-such-namespace")
    for number in range(3):
        tell(stage, elsewhere, f"message {number}")
    tell(stage, about)
    await ours(stage)
    assert [record.levelno for record in caplog.records if "cannot be written" in record.message] == [logging.WARNING]


@pytest.mark.simulator
async def test_an_api_server_that_is_busy_for_a_moment_loses_nothing(stage: Stage) -> None:
    about = await pod(stage)
    stage.world.cluster.faults.add(ApiFault("POST", EVENTS, 503))
    tell(stage, about)
    await ours(stage)


@pytest.mark.simulator
async def test_an_event_whose_answer_was_lost_is_not_written_twice(stage: Stage) -> None:
    about = await pod(stage)
    stage.world.cluster.faults.add(ApiFault("POST", EVENTS, 500, after_commit=True))
    tell(stage, about)
    await ours(stage)
    tell(stage, about)
    await ours(stage, said=2)


@pytest.mark.simulator
async def test_the_oldest_of_too_many_are_dropped_and_counted(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    about = await pod(stage)
    for number in range(QUEUED + 7):
        tell(stage, about, f"message {number:05}")
    await stage.events.close()
    written = (await stage.world.core.list_event_for_all_namespaces()).items
    messages = sorted(event.message for event in written if event.source.component == "node-pools")
    assert messages[0] == "message 00007"
    told = [record.getMessage() for record in caplog.records if "were not written" in record.getMessage()]
    assert len(told) == 1
    assert QUEUED - 60 <= int(told[0].split()[0]) <= QUEUED + 7 - len(messages)
