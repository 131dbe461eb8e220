"""What several commands read: clusters, pools and credentials of the organization."""

from __future__ import annotations

from core.views import ClusterRow, CredentialRow, PoolRow, PoolView
from starter import targets
from starter.session import Session
from workflows.messages import CLUSTER_WORKFLOW, POOL_WORKFLOW
from workflows.search_attributes import CLUSTER, ORGANIZATION


async def clusters(session: Session) -> list[ClusterRow]:
    """The registered clusters, by name."""
    query = _running(CLUSTER_WORKFLOW, session.organization)
    return sorted(await session.rows(query, ClusterRow), key=lambda row: row.name)


async def pools(session: Session, cluster: str | None) -> list[PoolRow]:
    """The pools of one cluster, or of all, by cluster and name."""
    query = _running(POOL_WORKFLOW, session.organization)
    if cluster is not None:
        query += f" AND {CLUSTER.name} = '{_quoted(cluster)}'"
    return sorted(await session.rows(query, PoolRow), key=lambda row: (row.cluster, row.name))


async def credentials(session: Session) -> list[CredentialRow]:
    """The stored credentials, by name."""
    target = targets.organization(session.organization)
    rows = await session.query(target, "credentials", list[CredentialRow])
    return sorted(rows, key=lambda row: row.name)


async def pool_row(session: Session, cluster: str, pool: str) -> PoolRow:
    """A pool's row, from its memo. Raises NotFound, also for a pool that was deleted."""
    return await session.row(targets.pool(session.organization, cluster, pool), PoolRow)


async def pool_view(session: Session, cluster: str, pool: str) -> PoolView:
    """A pool in full, from its worker. Raises NotFound, also for a pool that was deleted."""
    await pool_row(session, cluster, pool)
    return await session.query(targets.pool(session.organization, cluster, pool), "describe", PoolView)


def _running(workflow: str, organization: str) -> str:
    return (
        f"WorkflowType = '{workflow}' AND {ORGANIZATION.name} = '{_quoted(organization)}'"
        " AND ExecutionStatus = 'Running'"
    )


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
