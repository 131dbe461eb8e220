"""Drains a node through the Eviction API, within disruption budgets; safe to stop and to start again at any time."""

from __future__ import annotations

from datetime import UTC, datetime

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.beating import beating
from activities.cluster_api import ClusterApis
from activities.cluster_errors import ClusterError, as_temporal
from activities.drain_round import Drain
from core import machine_calls
from core.drain_holds import Pauses
from core.machine_calls import DrainOutcome, DrainResult

LOOK_S = 1.0


class DrainActivities:
    """The drain. `pauses` lie before a held pod is asked for again, `look_s` seconds between two looks at the node."""

    def __init__(self, apis: ClusterApis, pauses: Pauses | None = None, look_s: float = LOOK_S) -> None:
        self._apis = apis
        self._pauses = pauses or Pauses()
        self._look_s = look_s

    @activity.defn(name=machine_calls.DRAIN_NODE.name)
    async def drain_node(self, call: machine_calls.DrainNode) -> DrainResult:
        """Evict until no pod is left that a drain moves, the deadline passes, or other pods are held than known."""
        drain = Drain(call, self._pauses, self._look_s)
        try:
            async with beating(drain.progress):
                return await drain.run(await self._apis.get(call.cluster))
        except (ClusterError, ApplicationError) as error:
            # A cluster that does not answer must not keep a machine for ever.
            if datetime.now(UTC) >= call.deadline:
                return drain.result(DrainOutcome.TIMED_OUT)
            if isinstance(error, ClusterError):
                raise as_temporal(error) from error
            raise
