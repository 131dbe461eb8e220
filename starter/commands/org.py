"""`lbr org`: organizations and whether managed node pools are on for them."""

from __future__ import annotations

import asyncio

import click

from core.errors import Conflict
from core.names import check_name
from core.views import OrganizationView
from starter import targets
from starter.connection import connect
from starter.invocation import Invocation, output_options
from starter.output import say, show_one
from starter.running import profile_of, run
from starter.session import Session
from workflows.messages import ORGANIZATION_WORKFLOW, OrganizationStart, SetSurface
from workflows.search_attributes import attributes


@click.command()
@click.argument("name")
@output_options
@click.pass_obj
def create(invocation: Invocation, name: str) -> None:
    """Create organization NAME, with managed node pools on. One that exists like that is left as it is."""
    check_name("NAME", name)
    created, view = asyncio.run(_create(invocation, name))
    show_one(invocation, view, name, f"organization {name} {'created' if created else 'unchanged'}, {_flag(view)}")
    if created:
        say(f"next: store a cloud credential: lbr cloud-credential create NAME --org {name}")


async def _create(invocation: Invocation, name: str) -> tuple[bool, OrganizationView]:
    session = Session(await connect(profile_of(invocation)), name)
    target = targets.organization(name)
    created = await session.start(target, ORGANIZATION_WORKFLOW, OrganizationStart(organization=name), attributes(name))
    view = await session.query(target, "show", OrganizationView)
    if not view.enabled:
        raise Conflict(f"organization {name!r} exists, {_flag(view)}", hint=f"turn them on: lbr org enable {name}")
    return created, view


@click.command()
@click.argument("name", required=False)
@output_options
@click.pass_obj
def enable(invocation: Invocation, name: str | None) -> None:
    """Turn managed node pools on for organization NAME (default: the one you act for)."""
    _set(invocation, name, enabled=True)


@click.command()
@click.argument("name", required=False)
@output_options
@click.pass_obj
def disable(invocation: Invocation, name: str | None) -> None:
    """Turn managed node pools off for organization NAME (default: the one you act for).

    Commands for its pools then end with exit code 7. Pools that run go on.
    """
    _set(invocation, name, enabled=False)


def _set(invocation: Invocation, name: str | None, *, enabled: bool) -> None:
    invocation.organization = name or invocation.organization

    async def work(session: Session) -> OrganizationView:
        target = targets.organization(session.organization)
        await session.describe(target)  # says what does not exist, also without a worker
        return await session.update(target, "set_surface", SetSurface(enabled=enabled), OrganizationView)

    view = run(invocation, work, gate=False)
    show_one(invocation, view, view.name, f"organization {view.name}: {_flag(view)}")


@click.command()
@click.argument("name", required=False)
@output_options
@click.pass_obj
def show(invocation: Invocation, name: str | None) -> None:
    """Show organization NAME (default: the one you act for)."""
    invocation.organization = name or invocation.organization

    async def work(session: Session) -> OrganizationView:
        # The row says whether it exists and is current; the query needs a worker and says no more.
        return await session.row(targets.organization(session.organization), OrganizationView)

    view = run(invocation, work, gate=False)
    lines = (
        f"Organization:       {view.name}",
        f"Managed node pools: {'on' if view.enabled else 'off'}",
        f"Cloud credentials:  {view.credentials}",
        f"Clusters:           {view.clusters}",
        f"Pools:              {view.pools}",
    )
    show_one(invocation, view, view.name, "\n".join(lines))


def _flag(view: OrganizationView) -> str:
    return f"managed node pools are {'on' if view.enabled else 'off'}"
