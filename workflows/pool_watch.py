"""A pool's long watch: one heartbeating activity that returns when something about the Ready machines changed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError

from core import calls
from core.calls import ClusterRef, Health, MachineKnown, ProjectRef
from core.machine import Phase
from workflows.calling import drop, failure_of, start
from workflows.pool_state import PoolState

WATCH_SECONDS = 1800.0  # an idle pool or cluster writes some six events at each end of a watch
RETRY_PAUSE = timedelta(seconds=30)
RENEW_PAUSE = timedelta(seconds=1)  # machines that get ready one after another are watched from one renewal on


class PoolWatch:
    """Keeps one watch open, and opens another when what is to be watched has changed."""

    def __init__(self, state: PoolState, wake: Callable[[], None]) -> None:
        self.state = state
        self._wake = wake
        self._renewals = 0

    def renew(self) -> None:
        """Look at everything anew, whatever was known."""
        self._renewals += 1
        for machine in self.state.machines.values():
            machine.digest = ""

    async def run(self) -> None:
        """Watch for as long as the workflow's run lasts."""
        while True:
            await workflow.wait_condition(lambda: bool(self._ready()))
            await self._once()

    def _ready(self) -> list[str]:
        return sorted(name for name, machine in self.state.machines.items() if machine.phase is Phase.READY)

    def _subject(self) -> tuple[int, list[str]]:
        return self._renewals, self._ready()

    async def _once(self) -> None:
        state, subject = self.state, self._subject()
        count = len(subject[1])
        what = "1 node and its server" if count == 1 else f"{count} nodes and their servers"
        handle = start(calls.WATCH_POOL, self._argument(), summary=f"watch {what}")
        await workflow.wait_condition(lambda: handle.done() or self._subject() != subject)
        if not handle.done():
            drop(handle)
            if workflow.patched("renewed-together"):
                await workflow.sleep(RENEW_PAUSE, summary="let others get ready too")
            return
        try:
            seen = await handle
        except ActivityError as error:
            state.cloud = state.api = Health.UNKNOWN
            state.message = str(failure_of(error))
            await workflow.sleep(RETRY_PAUSE, summary="watch again")
            return
        state.absorb_sight(seen, workflow.now())
        self._wake()

    def _argument(self) -> calls.WatchPool:
        state, spec = self.state, self.state.spec
        known = {name: state.machines[name] for name in self._ready()}
        return calls.WatchPool(
            project=ProjectRef(organization=spec.organization, credential=spec.credential),
            cluster=ClusterRef(organization=spec.organization, cluster=spec.cluster),
            pool_id=state.pool_id,
            machines={
                name: MachineKnown(server_id=machine.server_id, node_uid=machine.node_uid, digest=machine.digest)
                for name, machine in known.items()
            },
            labels=spec.labels,
            taints=spec.taints,
            cloud=state.cloud,
            api=state.api,
            wait_s=WATCH_SECONDS,
        )
