"""With the timing of a real cluster and a clock moved by hand, things happen at the moments they do there."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sandbox.clock import ManualClock
from sandbox.kubernetes import REAL, Cluster
from sandbox.kubernetes.errors import ApiError
from sandbox.kubernetes.eviction import evict
from sandbox.kubernetes.identity import ADMIN
from sandbox.kubernetes.kinds import BUDGETS, NODES, PODS, REPLICA_SETS, SECRETS
from sandbox.kubernetes.objects import stamp

START = datetime(2026, 1, 1, tzinfo=UTC)
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
AMOUNTS = {"cpu": "4", "memory": "8Gi", "pods": "110"}


class Stage:
    """A cluster without an API server, whose controllers run when the clock is moved."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock(START)
        self.cluster = Cluster(self.clock, folder, timing=REAL)
        self.registry = self.cluster.registry

    def wait(self, seconds: int) -> None:
        """Let that time pass, a second at a time."""
        for _ in range(seconds):
            self.clock.advance(1)
            self.cluster.controllers.run_once()

    def node(self, name: str) -> None:
        """A node that has reported Ready once."""
        status = {"capacity": AMOUNTS, "allocatable": AMOUNTS, **READY}
        self.registry.create(NODES, "", {"metadata": {"name": name}, "status": status})

    def beat(self, name: str) -> None:
        """A sign of life."""
        heartbeat = {"lastHeartbeatTime": stamp(self.clock.now())}

        def report(node: dict[str, Any]) -> dict[str, Any]:
            node["status"]["conditions"][0] |= heartbeat
            return node

        self.registry.update(NODES, "", name, report, "status")

    def ready(self, name: str) -> str:
        """The Ready status of a node."""
        conditions = self.registry.get(NODES, "", name).obj["status"]["conditions"]
        return next(str(c["status"]) for c in conditions if c["type"] == "Ready")

    def pods(self) -> list[dict[str, Any]]:
        """All pods."""
        return list(self.cluster.store.objs(PODS))

    def pod(self, name: str, node: str, **extra: Any) -> None:
        """A running, ready pod on a node."""
        spec = {"nodeName": node, "containers": [{"name": "c", "image": "i:1"}], **extra}
        labels = {"app": "web"}
        self.registry.create(PODS, "default", {"metadata": {"name": name, "labels": labels}, "spec": spec})
        self.run(name)

    def run(self, name: str) -> None:
        """Have a pod running and ready."""

        def report(pod: dict[str, Any]) -> dict[str, Any]:
            pod["status"] |= {"phase": "Running", **READY}
            return pod

        self.registry.update(PODS, "default", name, report, "status")


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_a_silent_node_is_unknown_after_fifty_seconds(stage: Stage) -> None:
    stage.node("a")
    stage.wait(1)
    stage.wait(49)
    assert stage.ready("a") == "True"
    stage.wait(10)
    assert stage.ready("a") == "Unknown"


def test_pods_leave_an_unreachable_node_five_minutes_later(stage: Stage) -> None:
    stage.node("dead")
    stage.node("alive")
    stage.pod("p", "dead")
    for _ in range(60):
        stage.beat("alive")
        stage.wait(1)
    assert stage.ready("dead") == "Unknown"
    assert stage.pods()[0]["status"]["conditions"][0]["status"] == "False"
    for _ in range(290):
        stage.beat("alive")
        stage.wait(1)
    assert "deletionTimestamp" not in stage.pods()[0]["metadata"]
    for _ in range(15):
        stage.beat("alive")
        stage.wait(1)
    assert stage.pods()[0]["metadata"]["deletionGracePeriodSeconds"] == 30


def test_pods_of_a_deleted_node_go_after_quarantine_and_loop(stage: Stage) -> None:
    stage.node("a")
    stage.pod("p", "a")
    stage.registry.delete(NODES, "", "a")
    stage.wait(40)
    assert len(stage.pods()) == 1
    stage.wait(40)
    assert stage.pods() == []


def test_an_out_of_service_node_lets_go_of_its_pods(stage: Stage) -> None:
    stage.node("a")
    stage.pod("p", "a")
    stage.wait(60)

    def taint(node: dict[str, Any]) -> dict[str, Any]:
        found = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
        node["spec"]["taints"].append(found)
        return node

    stage.registry.update(NODES, "", "a", taint)
    stage.wait(25)
    assert stage.pods() == []


def test_an_expired_bootstrap_token_is_cleaned(stage: Stage) -> None:
    expiration = stamp(START + timedelta(minutes=15))
    secret = {"metadata": {"name": "bootstrap-token-aaaaaa"}, "type": "bootstrap.kubernetes.io/token"}
    stage.registry.create(SECRETS, "kube-system", secret | {"stringData": {"expiration": expiration}})
    stage.wait(899)
    assert stage.cluster.store.count(SECRETS) == 1
    stage.wait(15)
    assert stage.cluster.store.count(SECRETS) == 0


def test_a_budget_allows_one_pod_after_the_other(stage: Stage) -> None:
    stage.node("a")
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    selector = {"matchLabels": {"app": "web"}}
    spec = {"replicas": 3, "selector": selector, "template": template}
    stage.registry.create(REPLICA_SETS, "default", {"metadata": {"name": "web"}, "spec": spec})
    budget = {"metadata": {"name": "b"}, "spec": {"maxUnavailable": 1, "selector": selector}}
    stage.registry.create(BUDGETS, "default", budget)
    stage.wait(2)
    first, second, _ = (pod["metadata"]["name"] for pod in stage.pods())
    for pod in stage.pods():
        stage.run(pod["metadata"]["name"])
    stage.wait(1)
    evict(stage.registry, "default", first, {"metadata": {"name": first}}, ADMIN)
    with pytest.raises(ApiError) as refused:
        evict(stage.registry, "default", second, {"metadata": {"name": second}}, ADMIN)
    assert refused.value.code == 429
    stage.wait(1)
    for pod in stage.pods():
        stage.run(pod["metadata"]["name"])
    stage.wait(2)
    evict(stage.registry, "default", second, {"metadata": {"name": second}}, ADMIN)
