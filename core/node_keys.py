"""The labels and annotations that we put on nodes and on bootstrap secrets."""

from __future__ import annotations

from core.labels import OWN_PREFIX

POOL = f"{OWN_PREFIX}/pool"
POOL_ID = f"{OWN_PREFIX}/pool-id"
MACHINE = f"{OWN_PREFIX}/machine"
OWNED_LABELS = f"{OWN_PREFIX}/owned-labels"
OWNED_TAINTS = f"{OWN_PREFIX}/owned-taints"
CORDONED_BY = f"{OWN_PREFIX}/cordoned-by"
OPERATION_ID = f"{OWN_PREFIX}/operation-id"
# Load balancers of cloud controllers leave such a node out, so that traffic ends before its pods do.
NO_LOAD_BALANCER = "node.kubernetes.io/exclude-from-external-load-balancers"


def node_labels(pool: str, pool_id: str, machine: str, labels: dict[str, str]) -> dict[str, str]:
    """All labels that a node registers with: ours and the user's."""
    return {POOL: pool, POOL_ID: pool_id, MACHINE: machine, **labels}
