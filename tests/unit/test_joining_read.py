"""User-data is read as the join tools read it."""

import json

import pytest
import yaml

from sandbox.hollow.user_data import BadUserData, JoinPlan, parse


def cloud_config(*files: tuple[str, str]) -> str:
    entries = [{"path": path, "content": content} for path, content in files]
    return "#cloud-config\n" + yaml.safe_dump({"write_files": entries})


def test_k3s_and_rke2_configurations_are_read() -> None:
    config = {
        "server": "https://10.0.0.2:6443",
        "token": "K10" + "a" * 64 + "::abcdef.0123456789abcdef",
        "node-name": "n",
        "node-label": ["a=b"],
        "node-taint": ["c=d:NoSchedule", "e:NoExecute"],
        "kubelet-arg": ["max-pods=50", "--kube-reserved=cpu=1,memory=1Gi"],
    }
    expected = JoinPlan(
        server="https://10.0.0.2:6443",
        token="abcdef.0123456789abcdef",
        ca_hash="a" * 64,
        node_name="n",
        labels={"a": "b"},
        taints=({"key": "c", "value": "d", "effect": "NoSchedule"}, {"key": "e", "effect": "NoExecute"}),
        kubelet={"max-pods": "50", "kube-reserved": "cpu=1,memory=1Gi"},
        sets_provider_id=True,
        version="v1.34.1+rke2r1",
    )
    script = "export INSTALL_RKE2_VERSION=v1.34.1+rke2r1\necho provider-id=hcloud://$INSTANCE_ID"
    for flavour in ("k3s", "rke2"):
        path = f"/etc/rancher/{flavour}/config.yaml"
        assert parse(cloud_config((path, yaml.safe_dump(config)), ("/usr/local/sbin/join", script))) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#!/bin/sh\n",
        "#cloud-config\nwrite_files: []\n",
        "#cloud-config\n- not a mapping\n",
        cloud_config(("/etc/rancher/k3s/config.yaml", json.dumps({"server": "https://x"}))),
        cloud_config(("/etc/rancher/k3s/config.yaml", json.dumps({"server": "x", "token": "t", "node-taint": ["a"]}))),
    ],
)
def test_user_data_that_cannot_join_is_refused(text: str) -> None:
    with pytest.raises(BadUserData):
        parse(text)
