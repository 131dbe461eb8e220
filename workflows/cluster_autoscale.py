"""A cluster's autoscaler: one long watch that decides beside the cache of its pods, and the orders that follow."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from pydantic import BaseModel
from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

from core import autoscale_calls
from core.autoscale_calls import Autoscale, AutoscaleOrder, Decided, Measured, Standing
from core.calls import ClusterRef
from core.names import pool_workflow_id
from workflows.calling import drop, failure_of, start

RETRY_PAUSE = timedelta(seconds=10)


class Memory(BaseModel):
    """What decisions rest on besides the cluster itself. `ordered` has the number of the last order to each pool."""

    standings: dict[str, Standing] = {}
    ordered: dict[str, int] = {}
    number: int = 0
    unneeded: dict[str, datetime] = {}
    measured: dict[str, Measured] = {}
    added: datetime | None = None
    blind: str = ""


class Autoscaler:
    """Decides for all pools of one cluster together, one decision after the other. `told` hears of a change to show."""

    def __init__(self, memory: Memory, cluster: ClusterRef, told: Callable[[], None]) -> None:
        self.memory = memory
        self.cluster = cluster
        self._told = told
        self.busy = False
        self._renewals = 0

    def hear(self, standing: Standing) -> None:
        """Take in what a pool tells of itself. What it said before it heard the last order is out of date."""
        memory, name = self.memory, standing.spec.name
        known = memory.standings.get(name)
        same = known is not None and known.pool_id == standing.pool_id
        if standing.gone:
            if same:
                self._forget(name)
            return
        if not same:
            memory.ordered.pop(name, None)
        # A cluster that was registered anew goes on counting where its predecessor's orders ended.
        memory.number = max(memory.number, standing.heard)
        if standing.heard < memory.ordered.get(name, 0):
            return
        memory.standings[name] = standing
        if known is None or _matters(known) != _matters(standing):
            self._renewals += 1

    async def run(self) -> None:
        """Watch and order for as long as the workflow's run lasts."""
        while True:
            await workflow.wait_condition(lambda: bool(self.memory.standings))
            await self._once()

    def given(self) -> Autoscale:
        """What a decision is asked with."""
        memory = self.memory
        return Autoscale(
            cluster=self.cluster,
            standings=[standing for _, standing in sorted(memory.standings.items())],
            unneeded=memory.unneeded,
            measured=memory.measured,
            added=memory.added,
            blind=memory.blind,
        )

    async def _once(self) -> None:
        given, asked = self.given(), self._renewals
        count = len(given.standings)
        what = "1 pool" if count == 1 else f"{count} pools"
        handle = start(autoscale_calls.AUTOSCALE, given, summary=f"watch pods and nodes, decide for {what}")
        await workflow.wait_condition(lambda: handle.done() or self._renewals != asked)
        if not handle.done():
            drop(handle)  # asked with a pool as it no longer is
            return
        try:
            decided = await handle
        except ActivityError as error:
            self._see(str(failure_of(error)))
            await workflow.sleep(RETRY_PAUSE, summary="watch pods and nodes again")
            return
        if not self._holds(decided, given):
            return  # what was decided on a pool as it no longer is, is decided on anew
        self.busy = True
        try:
            await self._act(decided, workflow.now())
        finally:
            self.busy = False

    def _holds(self, decided: Decided, given: Autoscale) -> bool:
        """Whether every pool that something is decided for is still as it was when that was asked."""
        asked = {standing.spec.name: _matters(standing) for standing in given.standings}
        names = {growth.pool for growth in decided.growth} | {removal.pool for removal in decided.removals}
        known = self.memory.standings
        return all(name in known and _matters(known[name]) == asked[name] for name in names)

    async def _act(self, decided: Decided, now: datetime) -> None:
        memory = self.memory
        if decided.unneeded is not None:
            memory.unneeded = decided.unneeded
        if decided.measured is not None:
            memory.measured = decided.measured
        if decided.blind is not None:
            self._see(decided.blind)
        if any(growth.count > 0 for growth in decided.growth):
            memory.added = now
        orders = self._orders(decided)
        for name, order in orders:
            await self._send(name, order)

    def _see(self, blind: str) -> None:
        if blind != self.memory.blind:
            self.memory.blind = blind
            self._told()

    def _orders(self, decided: Decided) -> list[tuple[str, AutoscaleOrder]]:
        """The orders, one a pool, with their effect on what is known of the pools already counted in."""
        growths = {growth.pool: growth for growth in decided.growth}
        names = sorted({*growths, *(removal.pool for removal in decided.removals)})
        orders = []
        for name in names:
            standing = self.memory.standings.get(name)
            if standing is None:
                continue
            removals = [removal for removal in decided.removals if removal.pool == name]
            growth = growths.get(name)
            self.memory.number += 1
            self.memory.ordered[name] = self.memory.number
            standing.leaving = sorted({*standing.leaving, *(removal.node for removal in removals)})
            standing.target = (growth.size if growth else standing.target) - len(removals)
            standing.missing = max(0, standing.missing + (growth.count if growth else 0))
            order = AutoscaleOrder(
                number=self.memory.number,
                size=growth.size if growth else None,
                removals=removals,
                message=growth.message if growth else "",
            )
            orders.append((name, order))
        return orders

    async def _send(self, name: str, order: AutoscaleOrder) -> None:
        pool = pool_workflow_id(self.cluster.organization, self.cluster.cluster, name)
        try:
            await workflow.get_external_workflow_handle(pool).signal("autoscale", order)
        except ApplicationError as error:
            workflow.logger.warning("%s did not hear its order: %s", pool, error)
            self._forget(name)

    def _forget(self, name: str) -> None:
        self.memory.standings.pop(name, None)
        self.memory.ordered.pop(name, None)
        self._renewals += 1


def _matters(standing: Standing) -> Standing:
    """A standing without what changes no decision by itself."""
    return standing.model_copy(update={"heard": 0, "missing": 0 if standing.backoff is None else standing.missing})
