"""What a pool tells the workflows around it: its organization, and its cluster's autoscaler."""

from __future__ import annotations

from pydantic import BaseModel
from temporalio import workflow
from temporalio.exceptions import ApplicationError

from core.calls import Named
from core.names import cluster_workflow_id, organization_workflow_id
from workflows.messages import PoolGone
from workflows.pool_autoscale import is_news, standing
from workflows.pool_state import PoolState


class Telling:
    """Tells what is new, once. One that is gone hears nothing; that is no failure of the pool."""

    def __init__(self, state: PoolState) -> None:
        self.state = state

    async def refusal(self) -> None:
        """The organization learns that the cloud refused the credential."""
        if self.state.credential_refused and not self.state.refusal_told:
            self.state.refusal_told = True
            await self._organization("credential_refused", Named(name=self.state.spec.credential))

    async def usage(self) -> None:
        """The organization learns what counts from now on, whenever that changed."""
        if self.state.told_open != sorted(self.state.meter.open):
            self.state.told_open = sorted(self.state.meter.open)
            await self._organization("usage_line", self.state.line(workflow.now()))

    async def standing(self, *, gone: bool = False) -> None:
        """The cluster learns what its autoscaler must know, whenever that changed."""
        state = self.state
        now = standing(state).model_copy(update={"gone": gone})
        if is_news(now, state.told) and workflow.patched("standing"):
            state.told = now
            await _signal(cluster_workflow_id(state.spec.organization, state.spec.cluster), "standing", now)

    async def end(self) -> None:
        """Both learn that the pool is no more."""
        spec, line = self.state.spec, self.state.line(workflow.now(), final=True)
        await self.standing(gone=True)
        await self._organization("pool_gone", PoolGone(cluster=spec.cluster, pool=spec.name, line=line))

    async def _organization(self, signal: str, message: BaseModel) -> None:
        await _signal(organization_workflow_id(self.state.spec.organization), signal, message)


async def _signal(workflow_id: str, name: str, message: BaseModel) -> None:
    try:
        await workflow.get_external_workflow_handle(workflow_id).signal(name, message)
    except ApplicationError as error:
        workflow.logger.warning("%s did not hear %s: %s", workflow_id, name, error)
