"""Pools that follow their pods, as a user of kubectl sees it: up from nothing, back to nothing, and why not."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from typing import Any

import pytest

from sandbox.demo import NOTHING
from sandbox.launcher import BIN
from tests.integration.sandbox.conftest import Stand

CREATE = ("--credential", "hetzner-prod", "--location", "hel1", "--server-type", "cx23", "--min", "0")
QUICK = ("--scale-down-after", "3s")


def kubectl(stand: Stand, *words: str, typed: str = "") -> str:
    """Run `kubectl`; it must succeed."""
    command = [str(BIN / "kubectl"), "--kubeconfig", str(stand.box.layout.kubeconfig), *words]
    done = subprocess.run(command, input=typed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout


def servers(stand: Stand) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = stand.proof.cloud("servers")
    return found


def explained(stand: Stand, *words: str) -> dict[str, Any]:
    verdict: dict[str, Any] = json.loads(stand.lbr("cp", "pool", "explain", "prod", *words, "-o", "json"))
    return verdict


def running(stand: Stand, app: str) -> int:
    pods = json.loads(kubectl(stand, "get", "pods", "-l", f"app={app}", "-o", "json"))["items"]
    return sum(pod["status"].get("phase") == "Running" for pod in pods)


def events(stand: Stand, kind: str, reason: str) -> list[dict[str, Any]]:
    listed = json.loads(kubectl(stand, "get", "events", "-A", "-o", "json"))["items"]
    return [event for event in listed if event["involvedObject"]["kind"] == kind and event["reason"] == reason]


def end(stand: Stand, pool: str, *deployments: str) -> None:
    if deployments:
        kubectl(stand, "delete", *(f"deployment/{name}" for name in deployments))
    stand.lbr("cp", "pool", "delete", "prod", pool, "--wait")
    assert stand.proof.left() == NOTHING


def test_from_nothing_to_what_pods_need_and_back_to_nothing(stand: Stand) -> None:
    stand.lbr("cp", "pool", "create", "prod", "burst", *CREATE, "--max", "4", *QUICK)
    kubectl(stand, "create", "deployment", "web", "--image=web")
    stand.until("the first pod runs", lambda: running(stand, "web") == 1)
    assert len(servers(stand)) == 1, "one pod brings one server"
    kubectl(stand, "set", "resources", "deployment/web", "--requests=cpu=1500m")
    kubectl(stand, "scale", "deployment/web", "--replicas=3")
    stand.until("three pods run", lambda: running(stand, "web") == 3 and len(servers(stand)) == 3)
    stand.until("the pods are told", lambda: bool(events(stand, "Pod", "TriggeredScaleUp")))
    [busy, *_] = stand.proof.cluster("/api/v1/nodes")
    verdict = explained(stand, f"node/{busy['metadata']['name']}")
    assert verdict["reason"] == "NotUnderutilized"
    kubectl(stand, "scale", "deployment/web", "--replicas=0")
    stand.until("no server is left", lambda: servers(stand) == [], 90)
    assert stand.pool("burst")["target"] == 0
    assert events(stand, "Node", "ScaleDown")
    end(stand, "burst", "web")


def test_pods_that_fit_no_pool_bring_no_server_and_are_told_why(stand: Stand) -> None:
    taint = ("--taint", "dedicated=batch:NoSchedule", "--label", "workload=batch")
    stand.lbr("cp", "pool", "create", "prod", "batch", *CREATE, "--max", "3", *QUICK, *taint)
    kubectl(stand, "create", "deployment", "plain", "--image=web")
    stand.until("the pod is told", lambda: bool(events(stand, "Pod", "NotTriggerScaleUp")))
    [pod] = json.loads(kubectl(stand, "get", "pods", "-l", "app=plain", "-o", "json"))["items"]
    verdict = explained(stand, f"pod/{pod['metadata']['name']}")
    assert verdict["reason"] == "NoPoolFits"
    assert "taint dedicated=batch:NoSchedule is not tolerated" in verdict["message"]
    assert servers(stand) == []
    kubectl(stand, "apply", "-f", "-", typed=json.dumps(_job()))
    stand.until("the job's pod has its node", lambda: len(servers(stand)) == 1)
    end(stand, "batch", "plain")
    kubectl(stand, "delete", "job/crunch")


@pytest.mark.slow
def test_the_ceiling_holds_and_the_rest_is_told(stand: Stand) -> None:
    stand.lbr("cp", "pool", "create", "prod", "small", *CREATE, "--max", "1", *QUICK)
    kubectl(stand, "create", "deployment", "big", "--image=web", "--replicas=0")
    kubectl(stand, "set", "resources", "deployment/big", "--requests=cpu=1500m")
    kubectl(stand, "scale", "deployment/big", "--replicas=3")
    stand.until("one pod runs", lambda: running(stand, "big") >= 1 and stand.pool("small").get("ready") == 1)
    stand.until("two pods are refused", lambda: _reasons(stand).count("PoolMaxSizeReached") == 2)
    assert len(servers(stand)) == 1
    end(stand, "small", "big")


def test_a_pool_without_stock_gives_way_to_another_that_fits(stand: Stand) -> None:
    sold_out(stand, "cx23", 0)
    for name, kind in (("first", "cx23"), ("second", "cx33")):
        where = ("--credential", "hetzner-prod", "--location", "hel1", "--server-type", kind)
        stand.lbr("cp", "pool", "create", "prod", name, *where, "--min", "0", "--max", "3", *QUICK)
    kubectl(stand, "create", "deployment", "elsewhere", "--image=web")
    stand.until("the pod runs", lambda: running(stand, "elsewhere") == 1, 90)
    assert [server["server_type"]["name"] for server in servers(stand)] == ["cx33"]
    assert stand.pool("first")["message"].startswith("InstanceTypeUnavailable")
    stand.until("what was not to be had is given up", lambda: stand.pool("first")["target"] == 0)
    sold_out(stand, "cx23", None)
    stand.lbr("cp", "pool", "delete", "prod", "first", "--wait")
    end(stand, "second", "elsewhere")


@pytest.mark.slow
def test_a_worker_killed_while_nodes_go_loses_nothing(stand: Stand) -> None:
    stand.lbr("cp", "pool", "create", "prod", "idle", *CREATE, "--max", "4", "--initial", "3", *QUICK, "--wait")
    stand.until("the first removal", lambda: stand.pool("idle")["target"] < 3, 90)
    stand.box.processes.kill("worker")
    stand.box.start_worker()
    stand.until("nothing is left", lambda: servers(stand) + stand.proof.cluster("/api/v1/nodes") == [], 120)
    end(stand, "idle")


def sold_out(stand: Stand, server_type: str, remaining: int | None) -> None:
    """Let the simulated cloud have so many servers of a type in hel1 left, or any number."""
    request = urllib.request.Request(
        f"{stand.box.facts()['hetzner']}".removesuffix("/v1") + f"/_sandbox/hetzner/stock/hel1/{server_type}",
        json.dumps({"remaining": remaining, "advertised": True}).encode(),
        method="PUT",
    )
    with urllib.request.urlopen(request, timeout=10):
        pass


def _reasons(stand: Stand) -> list[str]:
    return [verdict["reason"] for verdict in json.loads(stand.lbr("cp", "pool", "explain", "prod", "-o", "json"))]


def _job() -> dict[str, Any]:
    """A job for the pool with the taint."""
    spec = {
        "restartPolicy": "Never",
        "nodeSelector": {"workload": "batch"},
        "tolerations": [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}],
        "containers": [{"name": "crunch", "image": "crunch", "resources": {"requests": {"cpu": "1"}}}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "crunch"},
        "spec": {"template": {"metadata": {"labels": {"app": "crunch"}}, "spec": spec}},
    }
