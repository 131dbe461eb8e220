"""The labels and annotations that we put on nodes and on bootstrap secrets."""

from __future__ import annotations

from core.labels import OWN_PREFIX

POOL = f"{OWN_PREFIX}/pool"
POOL_ID = f"{OWN_PREFIX}/pool-id"
MACHINE = f"{OWN_PREFIX}/machine"
OWNED_LABELS = f"{OWN_PREFIX}/owned-labels"
OWNED_TAINTS = f"{OWN_PREFIX}/owned-taints"
CORDONED_BY = f"{OWN_PREFIX}/cordoned-by"  # the operation whose cordon it is; not there where another's is
ADDED_WITH_CORDON = f"{OWN_PREFIX}/added-with-cordon"  # the operation, and which of label and taint it put there
OPERATION_ID = f"{OWN_PREFIX}/operation-id"
# Load balancers of cloud controllers leave such a node out, so that traffic ends before its pods do.
NO_LOAD_BALANCER = "node.kubernetes.io/exclude-from-external-load-balancers"
# Cluster Autoscaler's own key, and not one of ours: kube-proxy and the load balancers of cloud controllers know it, and
# let connections to such a node end in order. Its value is the time in seconds since 1970.
TO_BE_DELETED = "ToBeDeletedByClusterAutoscaler"


def node_labels(pool: str, pool_id: str, machine: str, labels: dict[str, str]) -> dict[str, str]:
    """All labels that a node registers with: ours and the user's."""
    return {POOL: pool, POOL_ID: pool_id, MACHINE: machine, **labels}
