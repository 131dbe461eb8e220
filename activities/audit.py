"""Proves that nothing of a pool is left, in the cloud and in the cluster."""

from __future__ import annotations

from temporalio import activity

from activities.beating import beaten
from activities.cloud_audit import look_for_leftovers
from activities.cluster_api import ClusterApis
from activities.cluster_errors import ClusterError, as_temporal
from activities.hetzner_client import Cloud
from activities.project import Projects
from activities.vault import Vault
from core import calls
from core.node_keys import POOL_ID


class AuditActivities:
    """The audit."""

    def __init__(self, apis: ClusterApis, cloud: Cloud, vault: Vault) -> None:
        self._apis = apis
        self._projects = Projects(cloud, vault)

    @activity.defn(name=calls.AUDIT_POOL.name)
    @beaten
    async def audit_pool(self, call: calls.AuditPool) -> calls.Leftovers:
        """What is left of the pool. An answer that cannot be had is an error, never 'nothing'."""
        cloud = await self._projects.run(call.project, lambda client: look_for_leftovers(client, call))
        try:
            api = await self._apis.get(call.cluster)
            selector = f"{POOL_ID}={call.owner.pool_id}"
            nodes = await api.get("/api/v1/nodes", labelSelector=selector)
            tokens = await api.get("/api/v1/namespaces/kube-system/secrets", labelSelector=selector)
        except ClusterError as error:
            raise as_temporal(error) from error
        return calls.Leftovers(
            servers=cloud.servers,
            primary_ips=cloud.primary_ips,
            ssh_keys=cloud.ssh_keys,
            nodes=sorted(item["metadata"]["name"] for item in nodes["items"]),
            bootstrap_secrets=sorted(item["metadata"]["name"] for item in tokens["items"]),
        )
