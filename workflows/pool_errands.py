"""A pool's calls that no machine's own workflow makes: nodes brought into step, pods counted, the audit at the end."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError

from core import calls
from core.calls import ClusterRef, Owner, ProjectRef
from core.events import Reason
from core.planner import Action
from workflows.calling import failure_of, run
from workflows.pool_state import PoolState

PATIENCE = timedelta(minutes=5)
AGAIN_PAUSE = timedelta(seconds=30)
AUDIT_PAUSE = timedelta(seconds=10)


class Errands:
    """Each ends by itself, well or after a pause; what is still to be done is planned again."""

    def __init__(self, state: PoolState) -> None:
        self.state = state

    async def sync(self, actions: list[Action]) -> None:
        """Bring the named nodes' labels and taints into step with the spec."""
        state = self.state
        nodes = {a.machine: m.node_uid for a in actions if (m := state.machines.get(a.machine)) and m.node_uid}
        asked = state.spec
        try:
            synced = await run(
                calls.SYNC_NODES,
                calls.SyncNodes(cluster=self._cluster, nodes=nodes, labels=asked.labels, taints=asked.taints),
                summary=f"labels and taints of {len(nodes)} nodes",
                patience=PATIENCE,
            )
        except ActivityError as error:
            state.message = str(failure_of(error))
            await workflow.sleep(AGAIN_PAUSE, summary="labels and taints: try again")
            return
        for name, changed in sorted(synced.changed.items()):
            if changed:
                state.note(workflow.now(), Reason.NODE_SYNCED, changed, name)
        if (asked.labels, asked.taints) != (state.spec.labels, state.spec.taints):
            return  # changed again meanwhile: the nodes are in step with what is no longer wanted
        # A node that is missing has nothing to bring into step; the watch judges its absence.
        for name in sorted([*synced.changed, *synced.missing]):
            if (machine := state.machines.get(name)) is not None:
                machine.in_step = True

    async def audit(self) -> bool:
        """Remove the pool's keys, and look whether anything of it is left. Whether nothing is."""
        state = self.state
        owner = Owner(organization=state.spec.organization, cluster_id=state.cluster_id, pool_id=state.pool_id)
        try:
            await run(
                calls.REMOVE_KEYS,
                calls.RemoveKeys(project=self._project, owner=owner),
                summary="delete the pool's SSH key",
                patience=PATIENCE,
            )
            left = await run(
                calls.AUDIT_POOL,
                calls.AuditPool(project=self._project, cluster=self._cluster, owner=owner, server_ids=state.server_ids),
                summary="audit: is anything of the pool left?",
                patience=PATIENCE,
            )
            found = "" if left.empty else f"the audit found {left}"
        except ActivityError as error:
            found = f"the audit did not end: {failure_of(error)}"
        if found:
            state.note(workflow.now(), Reason.RETIRE_FAILED, found)
            await workflow.sleep(AUDIT_PAUSE, summary="audit again")
            return False
        state.note(workflow.now(), Reason.POOL_DELETED, "nothing is left: no server, IP, key, Node or bootstrap token")
        return True

    async def count_pods(self, nodes: list[str]) -> int | None:
        """How many pods a drain of these nodes would evict; None where that cannot be said now."""
        if not nodes:
            return 0
        try:
            counted = await run(
                calls.COUNT_PODS,
                calls.CountPods(cluster=self._cluster, nodes=nodes),
                summary=f"count the pods on {len(nodes)} nodes",
                patience=timedelta(seconds=15),
            )
        except ActivityError:
            return None
        return counted.pods

    @property
    def _project(self) -> ProjectRef:
        return ProjectRef(organization=self.state.spec.organization, credential=self.state.spec.credential)

    @property
    def _cluster(self) -> ClusterRef:
        return ClusterRef(organization=self.state.spec.organization, cluster=self.state.spec.cluster)
