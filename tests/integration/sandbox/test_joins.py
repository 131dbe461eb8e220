"""Each way to join, from `lbr cp register` to a Ready node: the version decides which one fits."""

from __future__ import annotations

import json
import ssl
import urllib.request
from pathlib import Path

import pytest

from sandbox.demo import NOTHING
from tests.integration.sandbox.conftest import Stand

pytestmark = pytest.mark.simulator
CREATE = ("--credential", "hetzner-prod", "--location", "hel1", "--server-type", "cx23", "--min", "1", "--max", "1")
CNI = """
apiVersion: v1
kind: Namespace
metadata: {name: cni}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cni-config, namespace: cni}
data: {cidr: 10.0.0.0/16}
"""


def set_version(stand: Stand, version: str) -> None:
    """Upgrade the simulated control plane."""
    request = urllib.request.Request(
        f"{stand.box.facts()['kubernetes']}/_sandbox/kubernetes/version",
        json.dumps({"version": version}).encode(),
        method="PUT",
    )
    tls = ssl.create_default_context(cafile=str(stand.box.layout.state("kubernetes") / "tls/ca.pem"))
    with urllib.request.urlopen(request, timeout=10, context=tls):
        pass


@pytest.mark.parametrize(
    ("join", "version"), [("kubeadm", "v1.34.1"), ("rke2", "v1.33.5+rke2r1"), ("k3s", "v1.34.1+k3s1")]
)
def test_a_node_joins_with_the_cluster_s_own_version(stand: Stand, tmp_path: Path, join: str, version: str) -> None:
    manifest = tmp_path / "cni.yaml"
    manifest.write_text(CNI)
    set_version(stand, version)
    kubeconfig = str(stand.box.layout.kubeconfig)
    cni = ("--cni-manifest", str(manifest)) if join == "kubeadm" else ()
    # RKE2's supervisor port is where its agents ask first; here one server plays both.
    endpoint = ("--api-endpoint", str(stand.box.facts()["kubernetes"]))
    stand.lbr("cp", "register", join, "--kubeconfig", kubeconfig, "--join", join, *endpoint, *cni)
    stand.lbr(
        "cp", "pool", "create", join, "workers", *CREATE, "--label", "team=a", "--taint", "a=b:NoSchedule", "--wait"
    )
    [node] = stand.proof.cluster("/api/v1/nodes")
    assert node["status"]["nodeInfo"]["kubeletVersion"] == version
    assert node["metadata"]["labels"]["team"] == "a"
    assert {"key": "a", "value": "b", "effect": "NoSchedule"} in node["spec"]["taints"]
    namespaces = [each["metadata"]["name"] for each in stand.proof.cluster("/api/v1/namespaces")]
    assert join != "kubeadm" or "cni" in namespaces
    stand.lbr("cp", "pool", "delete", join, "workers", "--wait")
    assert stand.proof.left() == NOTHING


def test_the_wrong_way_to_join_is_refused_before_anything_is_stored(stand: Stand) -> None:
    set_version(stand, "v1.34.1+k3s1")
    kubeconfig = str(stand.box.layout.kubeconfig)
    done = stand.box.lbr("cp", "register", "wrong", "--kubeconfig", kubeconfig, "--join", "kubeadm")
    assert done.returncode == 4
    assert "--join k3s" in done.stderr
    assert "wrong" not in stand.lbr("cp", "list", "-o", "name")
