"""The workflows that commands speak to: their ids, and what to say when they do not exist."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import NotFound
from core.names import cluster_workflow_id, organization_workflow_id, pool_workflow_id


@dataclass(frozen=True)
class Target:
    """A workflow id, the words for the thing behind it, and the next step where it does not exist."""

    workflow_id: str
    words: str
    hint: str

    def missing(self) -> NotFound:
        """The error for a thing that does not exist."""
        return NotFound(f"there is no {self.words}", hint=self.hint)


def organization(name: str) -> Target:
    """An organization."""
    return Target(organization_workflow_id(name), f"organization {name!r}", f"create it: lbr org create {name}")


def cluster(organization: str, name: str) -> Target:
    """A registered cluster."""
    return Target(cluster_workflow_id(organization, name), f"cluster {name!r}", "list the clusters: lbr cp list")


def pool(organization: str, cluster: str, name: str) -> Target:
    """A pool."""
    words = f"pool {name!r} in cluster {cluster!r}"
    return Target(pool_workflow_id(organization, cluster, name), words, f"list the pools: lbr cp pool list {cluster}")
