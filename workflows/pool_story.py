"""What a pool shows of itself: its row for lists, its search attributes, and the current details in Temporal's UI."""

from __future__ import annotations

from temporalio import workflow

from core.planner import plan
from core.views import PoolRow
from workflows.messages import MEMO_ROW
from workflows.pool_state import PoolState
from workflows.search_attributes import CONDITIONS, PHASE


class Story:
    """Writes only what changed: each upsert is an event of the history."""

    def __init__(self, state: PoolState) -> None:
        self.state = state
        self._row: PoolRow | None = None
        self._marks: tuple[str, list[str]] | None = None

    def tell(self) -> None:
        """Bring row, search attributes and current details up to date."""
        row = self.state.row
        if row != self._row:
            self._row = row
            workflow.upsert_memo({MEMO_ROW: row})
        marks = (row.phase, sorted(str(condition.type) for condition in self.state.conditions if condition.status))
        if marks != self._marks:
            self._marks = marks
            workflow.upsert_search_attributes([PHASE.value_set(marks[0]), CONDITIONS.value_set(marks[1])])
        workflow.set_current_details(self._details(row))

    def _details(self, row: PoolRow) -> str:
        """The pool in Markdown, for a person who looks at the workflow."""
        state = self.state
        ahead = plan(state.spec, state.situation, workflow.now())
        steps = [action.message for action in ahead.actions] + ahead.notes
        lines = [
            f"**Pool {row.cluster}/{row.name}** is **{row.phase}**: {row.ready} of {row.target} ready, "
            f"bounds {row.min} to {row.max}, {row.server_type} in {row.location}",
            "",
            f"**Next:** {'; '.join(steps[:5]) or 'nothing; it watches'}",
            "",
            "| machine | phase | server | node | why |",
            "|---|---|---|---|---|",
        ]
        for machine in sorted(state.machines.values(), key=lambda m: m.serial)[:50]:
            node = machine.version or "-"
            lines.append(
                f"| {machine.name} | {machine.phase} | {machine.server_id or '-'} | {node} | {machine.message} |"
            )
        lines += ["", "**Conditions**", ""]
        lines += [
            f"- {condition.type}: {condition.status}, {condition.reason} {condition.message}"
            for condition in state.conditions
        ]
        return "\n".join(lines)
