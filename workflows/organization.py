"""`OrganizationWorkflow`: the feature flag, sealed credentials and their health, clusters, references, usage."""

from __future__ import annotations

import contextlib
from datetime import timedelta

from temporalio import workflow

from core import calls
from core.calls import Named, ProjectRef, ServerType
from core.errors import Conflict, FieldRefused
from core.names import cluster_workflow_id, pool_workflow_id
from core.placement import check_placement
from core.sealing import SealedSecret
from core.spec import PoolSpec, check_spec, differences
from core.usage import UsageLine, post
from core.views import CredentialRow, OrganizationView
from workflows.calling import ANSWER_PATIENCE, refusals, run
from workflows.messages import (
    MEMO_ROW,
    ORGANIZATION_WORKFLOW,
    POOL_WORKFLOW,
    ClusterPools,
    CreateOutcome,
    CreateResult,
    OrganizationStart,
    PoolGone,
    SetSurface,
    UsageView,
)
from workflows.organization_clusters import ClustersPart
from workflows.organization_credentials import CredentialsPart
from workflows.organization_state import OrganizationState, PoolEntry
from workflows.pool_state import PoolState
from workflows.search_attributes import attributes


@workflow.defn(name=ORGANIZATION_WORKFLOW)
class OrganizationWorkflow(CredentialsPart, ClustersPart):
    """Lives for ever: what an organization holds, and who refers to what."""

    @workflow.init
    def __init__(self, start: OrganizationStart) -> None:
        if start.carried is None:
            state = OrganizationState(
                name=start.organization,
                enabled=start.enabled,
                created_at=workflow.now(),
                history_limit=start.history_limit,
            )
        else:
            state = OrganizationState.model_validate(start.carried)
        super().__init__(state)

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
        await self._start_pool(spec, placement.server, cluster_id, workflow_id)
        return CreateResult(outcome=CreateOutcome.CREATED, workflow_id=workflow_id, spec=spec)

    async def _start_pool(self, spec: PoolSpec, server: ServerType | None, cluster_id: str, workflow_id: str) -> None:
        pool = PoolState.new(spec, str(workflow.uuid4()), cluster_id, workflow.now())
        pool.server = server
        pool.history_limit = self.state.history_limit
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
