"""The organization's clusters: probed and registered, given a new kubeconfig, forgotten."""

from __future__ import annotations

from temporalio import workflow
from temporalio.exceptions import WorkflowAlreadyStartedError

from core import calls
from core.calls import Connection, Health, Named
from core.errors import AuthRefused, Conflict, PoolsError
from core.names import check_name, cluster_workflow_id
from core.views import ClusterRow
from workflows.calling import ANSWER_PATIENCE, refusals, run
from workflows.cluster import ClusterState
from workflows.messages import CLUSTER_WORKFLOW, MEMO_ROW, Done, RegisterCluster
from workflows.organization_base import OrganizationBase
from workflows.search_attributes import attributes


class ClustersPart(OrganizationBase):
    """Updates on clusters."""

    @workflow.update(description="Register a cluster, or give a registered one a new kubeconfig.")
    async def register_cluster(self, request: RegisterCluster) -> ClusterRow:
        """Register a cluster."""
        return await self._once(ClusterRow, lambda: self._register_cluster(request))

    @register_cluster.validator
    def _check_register_cluster(self, request: RegisterCluster) -> None:
        with refusals():
            self._refuse_when_off()
            check_name("name", request.name, longest=40)

    async def _register_cluster(self, request: RegisterCluster) -> ClusterRow:
        probe = await self._probe_cluster(request)
        known = self.state.clusters.get(request.name)
        if known is not None and known != probe.cluster_id:
            raise Conflict(
                f"cluster {request.name!r} is registered and is another cluster (its id is {known})",
                hint=f"choose another name, or first: lbr cp deregister {request.name}",
            )
        if request.cni_manifest and known is None:
            await run(
                calls.APPLY_MANIFEST,
                calls.ApplyManifest(
                    cluster=calls.ClusterRef(organization=self.state.name, cluster=request.name),
                    sealed=request.sealed,
                    manifest=request.cni_manifest,
                ),
                summary="apply the CNI manifest, once",
                patience=ANSWER_PATIENCE,
            )
        cluster = ClusterState(
            organization=self.state.name,
            name=request.name,
            connection=Connection(
                sealed=request.sealed,
                cluster_id=probe.cluster_id,
                join=request.join,
                api_endpoint=probe.api_endpoint,
                version=probe.version,
            ),
            version=probe.version,
            registered_at=workflow.now(),
            pools=self.state.pools_of(request.name),
            history_limit=self.state.history_limit,
        )
        await self._start_cluster(cluster)
        self.state.clusters[request.name] = probe.cluster_id
        self._changed()
        return cluster.row

    async def _probe_cluster(self, request: RegisterCluster) -> calls.ClusterProbe:
        probe = await run(
            calls.PROBE_CLUSTER,
            calls.ProbeCluster(
                organization=self.state.name,
                cluster=request.name,
                sealed=request.sealed,
                api_endpoint=request.api_endpoint,
                join=request.join,
            ),
            summary=f"probe cluster {request.name}: version, identity, permissions",
            patience=ANSWER_PATIENCE,
        )
        if probe.health is Health.INVALID:
            raise AuthRefused(f"cluster {request.name!r} was not registered: {probe.message}", field="--kubeconfig")
        if probe.health is Health.UNKNOWN:
            raise PoolsError(
                f"cluster {request.name!r} was not registered: {probe.message}", hint="check the server's address"
            )
        return probe

    async def _start_cluster(self, cluster: ClusterState) -> None:
        workflow_id = cluster_workflow_id(cluster.organization, cluster.name)
        try:
            await workflow.start_child_workflow(
                CLUSTER_WORKFLOW,
                cluster,
                id=workflow_id,
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                search_attributes=attributes(cluster.organization, cluster.name),
                memo={MEMO_ROW: cluster.row},
                static_summary=f"cluster {cluster.name} of {cluster.organization}",
            )
        except WorkflowAlreadyStartedError:
            await self._signal(workflow_id, "reconnect", cluster.connection)

    @workflow.update(description="Forget a cluster that has no pools.")
    async def deregister_cluster(self, named: Named) -> Done:
        """Deregister a cluster."""
        return await self._once(Done, lambda: self._deregister_cluster(named))

    @deregister_cluster.validator
    def _check_deregister_cluster(self, named: Named) -> None:
        with refusals():
            self._refuse_when_off()
            self.state.cluster_id(named.name)
            users = [f"{named.name}/{pool}" for pool in self.state.pools_of(named.name)]
            self.state.refuse_if_used("cluster", named.name, users)

    async def _deregister_cluster(self, named: Named) -> Done:
        self._check_deregister_cluster(named)
        await self._signal(cluster_workflow_id(self.state.name, named.name), "stop")
        del self.state.clusters[named.name]
        self._changed()
        return Done(message=f"cluster {named.name!r} deregistered; the cluster itself is untouched")
