"""When a server that is not listed counts as absent: a listing alone may lag, or have lost a page."""

from __future__ import annotations

from collections import defaultdict

from activities.listing import Listing
from core.calls import Health, ProjectRef
from core.machine import Presence


class Absences:
    """Remembers in which listing each server was first missing. One for all pools of a worker process."""

    def __init__(self) -> None:
        self._missed: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)

    def presence(self, project: ProjectRef, server_id: int | None, listing: Listing) -> Presence:
        """Present when listed, absent when missing in two whole listings in a row, unknown otherwise."""
        if server_id is None or listing.health is not Health.VALID:
            return Presence.UNKNOWN
        missed = self._missed[project.organization, project.credential]
        if server_id in listing.servers:
            missed.pop(server_id, None)
            return Presence.PRESENT
        first = missed.setdefault(server_id, listing.generation)
        return Presence.ABSENT if listing.generation > first else Presence.UNKNOWN
