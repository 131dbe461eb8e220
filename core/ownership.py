"""Whose a server is: the labels that say so, and the check before anything is adopted or deleted."""

from __future__ import annotations

from core.calls import Owner

MANAGED_BY = "managed-node-pools"
_ORGANIZATION, _CLUSTER, _POOL_ID = "lbr-organization", "lbr-cluster-id", "lbr-pool-id"
_POOL, _MACHINE, _OPERATION = "lbr-pool", "lbr-machine", "lbr-operation-id"


def pool_labels(owner: Owner) -> dict[str, str]:
    """The labels that everything of a pool carries. Values are ids and names of at most 63 characters."""
    return {
        "managed-by": MANAGED_BY,
        _ORGANIZATION: owner.organization,
        _CLUSTER: owner.cluster_id,
        _POOL_ID: owner.pool_id,
    }


def server_labels(owner: Owner, pool: str, machine: str) -> dict[str, str]:
    """The labels of one machine's server."""
    return {**pool_labels(owner), _POOL: pool, _MACHINE: machine, _OPERATION: owner.operation_id}


def owned_by(labels: dict[str, str], owner: Owner) -> bool:
    """Whether `labels` say that the thing is `owner`'s; the operation counts where the owner names one."""
    wanted = pool_labels(owner) | ({_OPERATION: owner.operation_id} if owner.operation_id else {})
    return all(labels.get(key) == value for key, value in wanted.items())


def pool_selector(owner: Owner) -> str:
    """The label selector that finds everything of a pool."""
    return ",".join(f"{key}=={value}" for key, value in pool_labels(owner).items())


def managed_selector() -> str:
    """The label selector that finds everything of ours in a project."""
    return f"managed-by=={MANAGED_BY}"
