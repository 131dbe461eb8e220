"""`ClusterWorkflow`: one registered cluster; its connection, health, version and autoscaling."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

from core import autoscale_calls, calls
from core.autoscale_calls import ExplainObject, Explanation, ObjectKind, Standing
from core.calls import ClusterRef, Connection, Health
from core.errors import NotFound
from core.names import pool_workflow_id
from core.views import ClusterRow
from workflows.calling import drop, failure_of, refusals, run, start
from workflows.cluster_autoscale import Autoscaler, Memory
from workflows.entity import Entity, EntityState
from workflows.messages import CLUSTER_WORKFLOW, MEMO_ROW, ClusterPools

WATCH_SECONDS = 1800.0  # an idle pool or cluster writes some six events at each end of a watch
RETRY_PAUSE = timedelta(seconds=30)
EXPLAIN_PATIENCE = timedelta(seconds=25)


class ClusterState(EntityState):
    """What a cluster's workflow carries from run to run."""

    organization: str
    name: str
    connection: Connection
    health: Health = Health.VALID
    message: str = ""
    version: str
    nodes: int = 0
    digest: str = ""
    pools: list[str] = []
    registered_at: datetime
    autoscale: Memory = Memory()

    @property
    def row(self) -> ClusterRow:
        """The cluster as a list shows it."""
        blind = f"autoscaling stands still: {self.autoscale.blind}" if self.autoscale.blind else ""
        return ClusterRow(
            name=self.name,
            health=self.health,
            message=self.message or blind,
            version=self.version,
            join=self.connection.join,
            api_endpoint=self.connection.api_endpoint,
            nodes=self.nodes,
            pools=self.pools,
            registered_at=self.registered_at,
            cluster_id=self.connection.cluster_id,
        )


@workflow.defn(name=CLUSTER_WORKFLOW)
class ClusterWorkflow(Entity):
    """Watches one cluster for as long as it is registered."""

    @workflow.init
    def __init__(self, state: ClusterState) -> None:
        super().__init__(state)
        self.state = state
        self._stopped = False
        self._stale = False
        self._cluster = ClusterRef(organization=state.organization, cluster=state.name)
        self._autoscaler = Autoscaler(state.autoscale, self._cluster, self._show)

    @workflow.run
    async def run(self, state: ClusterState) -> str:
        """Watch until deregistered."""
        self._show()
        beside = [asyncio.create_task(self._watch()), asyncio.create_task(self._autoscaler.run())]
        await self._ask_pools()
        await workflow.wait_condition(lambda: self._ending and not self._autoscaler.busy)
        for task in beside:
            task.cancel()
        await workflow.wait_condition(workflow.all_handlers_finished)
        if not self._stopped:
            workflow.continue_as_new(self.state)
        return "deregistered"

    @property
    def _ending(self) -> bool:
        return self._stopped or self._should_continue()

    async def _watch(self) -> None:
        while not self._ending:
            await self._watch_once()

    async def _ask_pools(self) -> None:
        """Let pools that the autoscaler knows nothing of tell where they stand, as after a registration anew."""
        for name in self.state.pools:
            if name not in self.state.autoscale.standings:
                pool = pool_workflow_id(self.state.organization, self.state.name, name)
                try:
                    await workflow.get_external_workflow_handle(pool).signal("standing_wanted")
                except ApplicationError as error:
                    workflow.logger.warning("%s was not asked: %s", pool, error)

    @workflow.query(description="What an activity needs to reach the cluster; the kubeconfig stays sealed.")
    def connection(self) -> Connection:
        """The connection, kubeconfig sealed."""
        return self.state.connection

    @workflow.query(description="The cluster as a list shows it.")
    def show(self) -> ClusterRow:
        """The cluster's row."""
        return self.state.row

    @workflow.signal(description="A new kubeconfig for the same cluster.")
    def reconnect(self, connection: Connection) -> None:
        """Use another connection from now on."""
        self.state.connection = connection
        self._stale = True

    @workflow.signal(description="The pools that the cluster has now.")
    def pools(self, pools: ClusterPools) -> None:
        """Note the cluster's pools, for its row."""
        self.state.pools = sorted(pools.names)
        self._show()

    @workflow.signal(description="A pool tells the autoscaler where it stands.")
    def standing(self, standing: Standing) -> None:
        """Take in what a pool tells of itself."""
        self._autoscaler.hear(standing)

    @workflow.update(description="Why a pod waits or a node stays; changes nothing.")
    async def explain(self, about: ExplainObject) -> Explanation:
        """Run a decision and answer what it says."""
        with refusals():
            found = await run(
                autoscale_calls.EXPLAIN,
                autoscale_calls.Explain(given=self._autoscaler.given(), about=about),
                summary=f"explain {about.kind} {about.name}" if about.kind else "explain all that waits or stays",
                patience=EXPLAIN_PATIENCE,
            )
            if about.kind and not found.verdicts:
                what = f"{about.namespace}/{about.name}" if about.kind is ObjectKind.POD else about.name
                raise NotFound(
                    f"cluster {self.state.name!r} has no {about.kind} {what}",
                    hint=f"see what waits and what stays: lbr cp pool explain {self.state.name}",
                )
        return found

    @workflow.signal(description="Deregister: end this workflow.")
    def stop(self) -> None:
        """End."""
        self._stopped = True

    async def _watch_once(self) -> None:
        state, self._stale = self.state, False
        handle = start(
            calls.WATCH_CLUSTER,
            calls.WatchCluster(
                cluster=self._cluster,
                known_digest=state.digest,
                wait_s=WATCH_SECONDS,
            ),
            summary=f"watch {state.name}: version, health, nodes",
        )
        await workflow.wait_condition(lambda: handle.done() or self._stopped or self._stale)
        if not handle.done():
            drop(handle)
            return
        try:
            seen = await handle
        except ActivityError as error:
            state.health, state.message, state.digest = Health.UNKNOWN, str(failure_of(error)), ""
            self._show()
            await workflow.sleep(RETRY_PAUSE, summary="look again")
            return
        self._absorb(seen)

    def _absorb(self, seen: calls.ClusterSeen) -> None:
        state = self.state
        if seen.digest == state.digest:
            return
        state.digest, state.health, state.message = seen.digest, seen.health, seen.message
        if seen.health is Health.VALID:
            state.version, state.nodes = seen.version, seen.nodes
            state.connection = state.connection.model_copy(update={"version": seen.version})
        self._show()

    def _show(self) -> None:
        row = self.state.row
        workflow.upsert_memo({MEMO_ROW: row})
        workflow.set_current_details(
            f"**Cluster {row.name}**: {row.health}, version {row.version}, {row.nodes} nodes, "
            f"pools: {', '.join(row.pools) or 'none'}\n\n{row.message}"
        )
