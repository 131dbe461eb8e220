"""`OrganizationWorkflow`: the feature flag, sealed credentials and their health, clusters, references, usage."""

from __future__ import annotations

import contextlib
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, WorkflowAlreadyStartedError

from core import calls
from core.calls import Connection, Health, Named, ProbeCredential, ProjectRef
from core.errors import AuthRefused, Conflict, FieldRefused, PoolsError, surface_off
from core.names import check_name, cluster_workflow_id, pool_workflow_id
from core.placement import check_placement
from core.sealing import SealedSecret
from core.spec import PoolSpec, check_spec, differences
from core.usage import UsageLine, post
from core.views import ClusterRow, CredentialRow, OrganizationView
from workflows.calling import failure_of, refusals, run
from workflows.cluster import ClusterState
from workflows.entity import Entity
from workflows.messages import (
    CLUSTER_WORKFLOW,
    MEMO_ROW,
    ORGANIZATION_WORKFLOW,
    POOL_WORKFLOW,
    ClusterPools,
    CreateOutcome,
    CreateResult,
    CredentialNews,
    Done,
    OrganizationStart,
    PoolGone,
    RegisterCluster,
    SetSurface,
    StoreCredential,
    UsageView,
)
from workflows.organization_state import OrganizationState, PoolEntry, StoredCredential
from workflows.pool_state import PoolState
from workflows.search_attributes import attributes

ANSWER_PATIENCE = timedelta(seconds=60)  # a person waits for what these probes find


@workflow.defn(name=ORGANIZATION_WORKFLOW)
class OrganizationWorkflow(Entity):
    """Lives for ever: what an organization holds, and who refers to what."""

    @workflow.init
    def __init__(self, start: OrganizationStart) -> None:
        if start.carried is None:
            state = OrganizationState(name=start.organization, enabled=start.enabled, created_at=workflow.now())
        else:
            state = OrganizationState.model_validate(start.carried)
        super().__init__(state)
        self.state = state
        self._dirty = True

    @workflow.run
    async def run(self, start: OrganizationStart) -> None:
        """Probe credentials when they are due; everything else comes by message."""
        while True:
            self._dirty = False
            await self._probe_due()
            self._show()
            due = min((stored.due_at for stored in self.state.credentials.values()), default=None)
            wait = max(due - workflow.now(), timedelta(seconds=1)) if due else timedelta(days=1)
            with contextlib.suppress(TimeoutError):
                await workflow.wait_condition(
                    lambda: self._dirty or self._should_continue(), timeout=wait, timeout_summary="next probe"
                )
            if self._should_continue():
                await workflow.wait_condition(workflow.all_handlers_finished)
                carried = self.state.model_dump(mode="json")
                workflow.continue_as_new(OrganizationStart(organization=self.state.name, carried=carried))

    # --- reading ------------------------------------------------------------------------------------------

    @workflow.query(description="The organization: flag and counts.")
    def show(self) -> OrganizationView:
        """Flag and counts."""
        return self.state.row

    @workflow.query(description="Cloud credentials by health and use, never the secret.")
    def credentials(self) -> list[CredentialRow]:
        """The credentials' rows."""
        return [self.state.credential_row(name) for name in sorted(self.state.credentials)]

    @workflow.query(description="A credential as it is stored: sealed. Activities open it in memory.")
    def sealed_credential(self, named: Named) -> SealedSecret:
        """A sealed token."""
        with refusals():
            return self.state.credential(named.name).sealed

    @workflow.query(description="The usage ledger, ended pools included.")
    def usage(self) -> UsageView:
        """The ledger."""
        return UsageView(
            lines=sorted(self.state.ledger.values(), key=lambda line: (line.cluster, line.pool, line.pool_id))
        )

    # --- the surface --------------------------------------------------------------------------------------

    @workflow.update(description="Turn managed node pools on or off.")
    async def set_surface(self, request: SetSurface) -> OrganizationView:
        """Set the feature flag."""
        return await self._once(OrganizationView, lambda: self._set_surface(request))

    async def _set_surface(self, request: SetSurface) -> OrganizationView:
        self.state.enabled = request.enabled
        self._show()
        return self.state.row

    def _refuse_when_off(self) -> None:
        if not self.state.enabled:
            raise surface_off(self.state.name)

    # --- credentials --------------------------------------------------------------------------------------

    @workflow.update(description="Store a sealed cloud token under a new name; it is probed first.")
    async def create_credential(self, request: StoreCredential) -> CredentialRow:
        """Store a credential."""
        return await self._once(CredentialRow, lambda: self._create_credential(request))

    @create_credential.validator
    def _check_create_credential(self, request: StoreCredential) -> None:
        with refusals():
            self._refuse_when_off()
            check_name("name", request.name)

    async def _create_credential(self, request: StoreCredential) -> CredentialRow:
        if request.name in self.state.credentials:
            raise Conflict(
                f"cloud credential {request.name!r} exists",
                hint=f"replace its token: lbr cloud-credential rotate {request.name}",
            )
        probe = await self._probe(request.name, request.sealed)
        now = workflow.now()
        stored = StoredCredential(sealed=request.sealed, probe=probe, since=now, probed_at=now)
        self.state.credentials[request.name] = stored
        self._changed()
        return self.state.credential_row(request.name)

    @workflow.update(description="Replace a credential's token; the old one stays if the new one fails its probe.")
    async def rotate_credential(self, request: StoreCredential) -> CredentialRow:
        """Rotate a credential."""
        return await self._once(CredentialRow, lambda: self._rotate_credential(request))

    @rotate_credential.validator
    def _check_rotate_credential(self, request: StoreCredential) -> None:
        with refusals():
            self._refuse_when_off()
            self.state.credential(request.name)

    async def _rotate_credential(self, request: StoreCredential) -> CredentialRow:
        stored = self.state.credential(request.name)
        probe = await self._probe(request.name, request.sealed)
        if probe.health is not Health.VALID:
            raise PoolsError(
                f"the new token was not stored, the old one stays: {probe.message}",
                hint="try again when the cloud answers",
            )
        self.state.credentials[request.name] = stored.probed(probe, workflow.now()).model_copy(
            update={"sealed": request.sealed}
        )
        self._changed()
        await self._tell_users(request.name)
        return self.state.credential_row(request.name)

    @workflow.update(description="Remove a credential that no pool names.")
    async def delete_credential(self, named: Named) -> Done:
        """Delete a credential."""
        return await self._once(Done, lambda: self._delete_credential(named))

    @delete_credential.validator
    def _check_delete_credential(self, named: Named) -> None:
        with refusals():
            self._refuse_when_off()
            self.state.credential(named.name)
            self.state.refuse_if_used("cloud credential", named.name, self.state.users(named.name))

    async def _delete_credential(self, named: Named) -> Done:
        self.state.credential(named.name)
        self.state.refuse_if_used("cloud credential", named.name, self.state.users(named.name))
        del self.state.credentials[named.name]
        self._changed()
        return Done(message=f"cloud credential {named.name!r} deleted")

    async def _probe(self, name: str, sealed: SealedSecret) -> calls.Probe:
        """Probe a token before it is stored. Raises AuthRefused when the cloud refuses it."""
        probe = await run(
            calls.PROBE_CREDENTIAL,
            ProbeCredential(organization=self.state.name, name=name, sealed=sealed),
            summary=f"probe {name}: one read, one write that must be refused for its body",
            patience=ANSWER_PATIENCE,
        )
        if probe.health is Health.INVALID:
            raise AuthRefused(
                f"the token was not stored: {probe.message}",
                hint="make an API token with Read & Write in the Hetzner project that is to hold the nodes",
                field="--token",
            )
        return probe

    async def _probe_due(self) -> None:
        for name, stored in sorted(self.state.credentials.items()):
            if stored.due_at <= workflow.now():
                await self._probe_again(name)

    async def _probe_again(self, name: str) -> None:
        """Probe a stored token; when its health has changed, its pools are told."""
        stored = self.state.credentials.get(name)
        if stored is None:
            return
        try:
            probe = await run(
                calls.PROBE_CREDENTIAL,
                ProbeCredential(organization=self.state.name, name=name, sealed=stored.sealed),
                summary=f"probe {name}",
                patience=ANSWER_PATIENCE,
            )
        except ActivityError as error:
            probe = calls.Probe(health=Health.UNKNOWN, reason="ProbeFailed", message=str(failure_of(error)))
        current = self.state.credentials.get(name)
        if current is None or current.sealed != stored.sealed:
            return  # rotated or deleted meanwhile: this finding is about a token that is no longer used
        self.state.credentials[name] = current.probed(probe, workflow.now())
        if probe.health is not Health.UNKNOWN:
            await self._tell_users(name)

    async def _tell_users(self, name: str) -> None:
        probe = self.state.credentials[name].probe
        news = CredentialNews(name=name, health=probe.health, reason=probe.reason, message=probe.message)
        for workflow_id, pool in sorted(self.state.pools.items()):
            if pool.credential == name:
                await self._signal(workflow_id, "credential_news", news)

    @workflow.signal(description="A pool says that the cloud refused its token.")
    async def credential_refused(self, named: Named) -> None:
        """Probe at once, and tell all pools on the credential what was found."""
        async with self._lock:
            await self._probe_again(named.name)

    # --- clusters -----------------------------------------------------------------------------------------

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

    # --- pools --------------------------------------------------------------------------------------------

    @workflow.update(description="Create a pool; everything is checked before anything is stored.")
    async def create_pool(self, spec: PoolSpec) -> CreateResult:
        """Create a pool."""
        return await self._once(CreateResult, lambda: self._create_pool(spec))

    @create_pool.validator
    def _check_create_pool(self, spec: PoolSpec) -> None:
        with refusals():
            self._refuse_when_off()
            if spec.organization != self.state.name:
                raise FieldRefused("organization", f"this is organization {self.state.name!r}", hint="use its own name")
            check_spec(spec)
            self.state.credential(spec.credential)
            self.state.cluster_id(spec.cluster)

    async def _create_pool(self, spec: PoolSpec) -> CreateResult:
        workflow_id = pool_workflow_id(spec.organization, spec.cluster, spec.name)
        if workflow_id in self.state.pools:
            known = await run(
                calls.READ_POOL,
                calls.ReadPool(workflow_id=workflow_id),
                summary=f"ask {workflow_id}",
                patience=ANSWER_PATIENCE,
            )
            if known.spec is not None:
                return _same_or_conflict(spec, known, workflow_id)
        self.state.credential(spec.credential)
        cluster_id = self.state.cluster_id(spec.cluster)
        placement = await run(
            calls.CHECK_PLACEMENT,
            calls.CheckPlacement(
                project=ProjectRef(organization=spec.organization, credential=spec.credential),
                location=spec.location,
                server_type=spec.server_type,
            ),
            summary=f"is {spec.server_type} sold in {spec.location}?",
            patience=ANSWER_PATIENCE,
        )
        check_placement(spec.location, spec.server_type, placement)
        await self._start_pool(spec, cluster_id, workflow_id)
        return CreateResult(outcome=CreateOutcome.CREATED, workflow_id=workflow_id, spec=spec)

    async def _start_pool(self, spec: PoolSpec, cluster_id: str, workflow_id: str) -> None:
        pool = PoolState.new(spec, str(workflow.uuid4()), cluster_id, workflow.now())
        self.state.pools[workflow_id] = PoolEntry(
            cluster=spec.cluster,
            pool=spec.name,
            pool_id=pool.pool_id,
            credential=spec.credential,
            workflow_id=workflow_id,
        )
        post(self.state.ledger, pool.line(workflow.now()))
        await workflow.start_child_workflow(
            POOL_WORKFLOW,
            pool,
            id=workflow_id,
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
            search_attributes=attributes(spec.organization, spec.cluster, spec.name),
            memo={MEMO_ROW: pool.row},
            static_summary=f"pool {spec.cluster}/{spec.name} of {spec.organization}",
        )
        await self._tell_cluster(spec.cluster)
        self._changed()

    @workflow.signal(description="A pool's last words: nothing of it is left.")
    async def pool_gone(self, gone: PoolGone) -> None:
        """Release the pool's references and keep its usage."""
        post(self.state.ledger, gone.line)
        workflow_id = pool_workflow_id(self.state.name, gone.cluster, gone.pool)
        entry = self.state.pools.get(workflow_id)
        if entry is not None and entry.pool_id == gone.line.pool_id:
            del self.state.pools[workflow_id]
            await self._tell_cluster(gone.cluster)
        self._changed()

    @workflow.signal(description="A pool's running totals.")
    def usage_line(self, line: UsageLine) -> None:
        """Enter a pool's totals into the ledger."""
        post(self.state.ledger, line)

    async def _tell_cluster(self, cluster: str) -> None:
        pools = ClusterPools(names=self.state.pools_of(cluster))
        await self._signal(cluster_workflow_id(self.state.name, cluster), "pools", pools)

    # --- plumbing -----------------------------------------------------------------------------------------

    async def _signal(self, workflow_id: str, name: str, *message: object) -> None:
        """Signal another workflow; one that has ended hears nothing, and that is no failure here."""
        try:
            await workflow.get_external_workflow_handle(workflow_id).signal(name, args=list(message))
        except ApplicationError as error:
            workflow.logger.warning("%s did not hear %s: %s", workflow_id, name, error)

    def _changed(self) -> None:
        self._dirty = True
        self._show()

    def _show(self) -> None:
        row = self.state.row
        workflow.upsert_memo({MEMO_ROW: row})
        workflow.set_current_details(
            f"**Organization {row.name}**: managed node pools {'on' if row.enabled else 'off'}; "
            f"{row.credentials} credentials, {row.clusters} clusters, {row.pools} pools"
        )


def _same_or_conflict(spec: PoolSpec, known: calls.PoolLookup, workflow_id: str) -> CreateResult:
    """What creating an existing pool means: nothing to do, or a refusal that names the differences."""
    assert known.spec is not None
    name = f"pool {spec.cluster}/{spec.name}"
    if known.deleting:
        raise Conflict(f"{name} is being deleted", hint="wait until it is gone, then create it anew")
    changes = differences(known.spec, spec)
    if changes:
        raise Conflict(
            f"{name} exists with another spec:\n  " + "\n  ".join(changes),
            hint=f"change what is mutable: lbr cp pool update {spec.cluster} {spec.name}; for the rest make a new pool",
        )
    return CreateResult(outcome=CreateOutcome.UNCHANGED, workflow_id=workflow_id, spec=known.spec)
