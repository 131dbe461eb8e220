"""What the long-lived workflows share: one lock, updates answered once across runs, and when to continue as new."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import BaseModel
from temporalio import workflow

from workflows.calling import refusals

ANSWERS_KEPT = 50  # Temporal forgets update ids at continue-as-new; clients retry within seconds, not days

Answer = TypeVar("Answer", bound=BaseModel)


class EntityState(BaseModel):
    """The part of an entity's state that is the same for all: answers by update id, and a test's history limit."""

    answers: dict[str, dict[str, Any]] = {}
    history_limit: int | None = None


class Entity:
    """Base of the entity workflows."""

    def __init__(self, state: EntityState) -> None:
        self._entity = state
        self._lock = asyncio.Lock()

    async def _once(self, kind: type[Answer], act: Callable[[], Awaitable[Answer]]) -> Answer:
        """Answer an update: as before if this update id was answered in any run, else by `act` under the lock."""
        info = workflow.current_update_info()
        update_id = info.id if info else ""
        async with self._lock:
            known = self._entity.answers.get(update_id)
            if known is not None:
                return kind.model_validate(known)
            with refusals():
                answer = await act()
            self._entity.answers[update_id] = answer.model_dump(mode="json")
            for old in list(self._entity.answers)[:-ANSWERS_KEPT]:
                del self._entity.answers[old]
            return answer

    def _should_continue(self) -> bool:
        """Whether this run's history is long enough for a new run."""
        limit = self._entity.history_limit
        if limit is not None and workflow.info().get_current_history_length() > limit:
            return True
        return workflow.info().is_continue_as_new_suggested()
