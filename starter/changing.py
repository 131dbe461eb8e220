"""Changes of a pool: by update, which answers, or by signal, which does not wait; and what would be removed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from pydantic import BaseModel

from core.spec import PoolSpec
from core.views import PoolRow
from starter import targets
from starter.confirm import confirm
from starter.invocation import Invocation
from starter.output import say, show_one
from starter.session import Session
from starter.waiting import following, until_ready
from workflows.messages import ChangeResult, Impact, PreviewRequest


@dataclass(frozen=True)
class Change:
    """One change of one pool. `wait_for` is how long to wait until the pool is ready again; None does not wait."""

    cluster: str
    pool: str
    name: str
    argument: BaseModel
    by_signal: bool = False
    wait_for: timedelta | None = None

    async def send(self, session: Session, invocation: Invocation) -> ChangeResult:
        """Send it. Whoever interrupts the waiting is told how to follow the work."""
        target = targets.pool(session.organization, self.cluster, self.pool)
        if self.by_signal:
            await session.signal(target, self.name, self.argument)
            return ChangeResult(changed=[], message="change requested; the pool's events show what comes of it")
        invocation.follow = following(self.cluster, self.pool)
        result = await session.update(target, self.name, self.argument, ChangeResult)
        if self.wait_for is not None:
            await until_ready(session, self.cluster, self.pool, self.wait_for)
        return result


def spec_of(row: PoolRow) -> PoolSpec:
    """The pool's spec without labels and taints: enough to check a change before it is sent."""
    fields = row.model_dump(
        include={"organization", "cluster", "name", "credential", "location", "server_type", "min", "max", "paused"}
    )
    return PoolSpec(**fields)


async def preview(session: Session, cluster: str, pool: str, request: PreviewRequest) -> Impact:
    """What a lower ceiling or a delete would remove; said on standard error."""
    impact = await session.update(targets.pool(session.organization, cluster, pool), "preview", request, Impact)
    pods = "an unknown number of pods" if impact.pods is None else _count(impact.pods, "pod")
    say(f"pool {cluster}/{pool}: {_count(impact.servers, 'server')} and {pods} are concerned")
    return impact


async def ask_before_removal(session: Session, cluster: str, pool: str, request: PreviewRequest, *, yes: bool) -> None:
    """Say what would be removed and, on a terminal, have the pool's name typed."""
    impact = await preview(session, cluster, pool, request)
    if impact.servers or request.delete:
        confirm(pool, yes=yes)


def show_change(invocation: Invocation, cluster: str, pool: str, result: ChangeResult) -> None:
    """Print what a change did."""
    outcome = result.message or ("updated" if result.changed else "unchanged")
    lines = [f"pool {cluster}/{pool} {outcome}", *(f"  {line}" for line in result.changed)]
    if result.removing:
        lines.append(f"  removing {_count(result.removing, 'server')}")
    show_one(invocation, result, pool, "\n".join(lines))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
