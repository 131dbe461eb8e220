"""What an installer grants so that machines can join with a bootstrap token: the same in both worlds."""

from __future__ import annotations

from typing import Any

from core.calls import JoinMethod

GROUPS = tuple(f"system:bootstrappers:{method}:default-node-token" for method in JoinMethod)
ASKS, FIRST, AGAIN = (
    "system:node-bootstrapper",
    "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
    "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
)


def bindings() -> list[dict[str, Any]]:
    """Bootstrap tokens may ask for a node's certificate, and are given it; nodes may renew theirs.

    kubeadm makes the same three bindings.
    """
    return [
        _binding("kubeadm:kubelet-bootstrap", ASKS, GROUPS),
        _binding("kubeadm:node-autoapprove-bootstrap", FIRST, GROUPS),
        _binding("kubeadm:node-autoapprove-certificate-rotation", AGAIN, ("system:nodes",)),
    ]


def _binding(name: str, role: str, groups: tuple[str, ...]) -> dict[str, Any]:
    api = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": api, "kind": "Group", "name": group} for group in groups],
    }
