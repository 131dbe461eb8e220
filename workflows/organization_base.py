"""What the parts of the organization's workflow share: its state, its signals to others, and what it shows."""

from __future__ import annotations

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from core.errors import surface_off
from workflows.entity import Entity
from workflows.messages import MEMO_ROW
from workflows.organization_state import OrganizationState


class OrganizationBase(Entity):
    """Base of the parts."""

    def __init__(self, state: OrganizationState) -> None:
        super().__init__(state)
        self.state = state
        self._dirty = True

    def _refuse_when_off(self) -> None:
        if not self.state.enabled:
            raise surface_off(self.state.name)

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
