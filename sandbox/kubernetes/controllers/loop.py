"""Runs the controllers: soon after something changed that they look at, and at least once a sweep."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from sandbox.clock import Clock
from sandbox.kubernetes.certificates import Authority
from sandbox.kubernetes.controllers.csr import approve_and_sign
from sandbox.kubernetes.controllers.daemon_sets import reconcile_daemon_sets
from sandbox.kubernetes.controllers.deployments import reconcile_deployments
from sandbox.kubernetes.controllers.disruption import update_budgets
from sandbox.kubernetes.controllers.garbage import collect_dependents, reconcile_namespaces
from sandbox.kubernetes.controllers.jobs import reconcile_jobs
from sandbox.kubernetes.controllers.node_lifecycle import NodeLifecycle
from sandbox.kubernetes.controllers.pod_gc import PodGarbage
from sandbox.kubernetes.controllers.replica_sets import reconcile_replica_sets
from sandbox.kubernetes.controllers.scheduler import Scheduler
from sandbox.kubernetes.controllers.taint_eviction import TaintEviction
from sandbox.kubernetes.controllers.tokens import clean_tokens
from sandbox.kubernetes.errors import ApiError
from sandbox.kubernetes.kinds import (
    BUDGETS,
    CONFIG_MAPS,
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    REPLICA_SETS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SIGNING_REQUESTS,
    Kind,
)
from sandbox.kubernetes.registry import Registry
from sandbox.kubernetes.service_accounts import TokenIssuer, fill_token_secrets
from sandbox.kubernetes.store import Change
from sandbox.kubernetes.timing import Timing

_log = logging.getLogger(__name__)
WORKLOADS = (DEPLOYMENTS, REPLICA_SETS, DAEMON_SETS, JOBS)
_REST = 0.02  # real seconds between rounds, so that a burst of writes costs one round


class Step(NamedTuple):
    """One controller: what it does, the kinds that wake it, and how often it looks anyway (seconds)."""

    run: Callable[[datetime], None]
    kinds: frozenset[Kind]
    period: float


class Controllers:
    """All control loops of a cluster. `start` needs a running event loop."""

    def __init__(
        self, registry: Registry, authority: Authority, accounts: TokenIssuer, *, clock: Clock, timing: Timing
    ) -> None:
        self._clock = clock
        self._steps = _steps(registry, authority, accounts, timing)
        self._due = [clock.now()] * len(self._steps)
        self._touched: set[Kind] = set()
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._tick = min(step.period for step in self._steps)
        registry.store.listen(self._note)

    def start(self) -> None:
        """Begin to run."""
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._run()), loop.create_task(self._ticks())]

    async def close(self) -> None:
        """Stop running."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def run_once(self) -> None:
        """One round: the steps that are due, or whose objects changed."""
        touched, self._touched = self._touched, set()
        now = self._clock.now()
        for index, step in enumerate(self._steps):
            if step.kinds & touched or (now - self._due[index]).total_seconds() >= step.period:
                self._due[index] = now
                self._guarded(step, now)

    def _guarded(self, step: Step, now: datetime) -> None:
        """One controller's failure must not stop the others: each recovers, as in a controller manager."""
        try:
            step.run(now)
        except ApiError as error:
            _log.info("%s: %s", step.run, error.message)
        except Exception:  # a defect of ours; loud in the log, and tried again with the next round
            _log.exception("a controller failed")

    def _note(self, change: Change) -> None:
        self._touched.add(change.kind)
        self._wake.set()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            self._wake.clear()
            begun = loop.time()
            self.run_once()
            await asyncio.sleep(max(_REST, loop.time() - begun))

    async def _ticks(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                await self._clock.sleep(self._tick)
                self._wake.set()


def _steps(registry: Registry, authority: Authority, accounts: TokenIssuer, timing: Timing) -> list[Step]:
    """The controllers, in an order in which one round of all gets as far as it can."""
    lifecycle, scheduler = NodeLifecycle(registry, timing), Scheduler(registry)
    evictor, pod_garbage = TaintEviction(registry), PodGarbage(registry, timing)
    sweep = timing.sweep

    def on(*kinds: Kind) -> frozenset[Kind]:
        return frozenset(kinds)

    return [
        Step(lambda now: approve_and_sign(registry, authority, now), on(SIGNING_REQUESTS), sweep),
        Step(lambda _: fill_token_secrets(registry, accounts, authority.pem), on(SECRETS, SERVICE_ACCOUNTS), sweep),
        Step(lambda now: clean_tokens(registry, now), on(), timing.token_cleaner_period),
        Step(lifecycle.step, on(NODES), timing.node_monitor_period),
        Step(evictor.step, on(NODES), sweep),
        Step(pod_garbage.step, on(), timing.pod_gc_period),
        Step(lambda now: collect_dependents(registry, now), on(NODES, PODS, *WORKLOADS), sweep),
        Step(lambda now: reconcile_deployments(registry, now), on(DEPLOYMENTS, REPLICA_SETS), sweep),
        Step(lambda now: reconcile_replica_sets(registry, now), on(REPLICA_SETS, PODS), sweep),
        Step(lambda now: reconcile_daemon_sets(registry, now), on(DAEMON_SETS, NODES, PODS), sweep),
        Step(lambda now: reconcile_jobs(registry, now), on(JOBS, PODS), sweep),
        Step(scheduler.step, on(PODS, NODES), sweep),
        Step(lambda now: update_budgets(registry, now), on(BUDGETS, PODS, REPLICA_SETS, DEPLOYMENTS), sweep),
        Step(
            lambda _: reconcile_namespaces(registry, authority.pem),
            on(NAMESPACES, SERVICE_ACCOUNTS, CONFIG_MAPS),
            sweep,
        ),
    ]
