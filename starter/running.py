"""Runs a command's work: finds the profile, connects, checks the organization's flag, and lets the work speak."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from core.errors import surface_off
from core.views import OrganizationView
from starter import targets
from starter.connection import connect
from starter.invocation import Invocation
from starter.profile import Profile, organization_of, resolve
from starter.session import Session

Result = TypeVar("Result")


def profile_of(invocation: Invocation) -> Profile:
    """The profile that an invocation asks for."""
    return resolve(invocation.profile, invocation.organization)


def run(invocation: Invocation, work: Callable[[Session], Awaitable[Result]], *, gate: bool = True) -> Result:
    """Connect and do `work`. With `gate`, the organization must exist and its surface be on.

    Raises NotFound, SurfaceOff, and whatever `work` raises.
    """
    profile = profile_of(invocation)
    organization = organization_of(profile)

    async def connected() -> Result:
        session = Session(await connect(profile), organization)
        if gate:
            await check_surface(session)
        return await work(session)

    return asyncio.run(connected())


async def check_surface(session: Session) -> None:
    """Refuse while managed node pools are off. Reads the memo, so it costs one call and needs no worker."""
    view = await session.row(targets.organization(session.organization), OrganizationView)
    if not view.enabled:
        raise surface_off(session.organization)
