"""`lbr doctor`: checks everything that commands depend on."""

from __future__ import annotations

import asyncio

import click

from core.errors import PoolsError
from starter.connection import connect, settings
from starter.doctor.findings import Finding, Status, fail, ok, warn
from starter.doctor.organization import check_organization
from starter.doctor.server import check_server
from starter.invocation import Invocation, output_options
from starter.output import Column, show_list
from starter.profile import Profile
from starter.running import profile_of
from starter.session import Session

COLUMNS: list[Column[Finding]] = [
    Column("STATUS", lambda finding: finding.status.value, status=True),
    Column("CHECK", lambda finding: finding.check),
    Column("MESSAGE", lambda finding: finding.message + (f"; {finding.hint}" if finding.hint else "")),
]


@click.command()
@output_options
@click.pass_context
def doctor(context: click.Context) -> None:
    """Check everything that commands depend on, and say what to do about what is not right.

    The exit code is 1 if a check fails; warnings leave it at 0.
    """
    invocation = context.ensure_object(Invocation)
    profile = profile_of(invocation)
    findings = [_configuration(profile), *asyncio.run(_examine(profile))]
    show_list(invocation, findings, COLUMNS, lambda finding: finding.check)
    if any(finding.status is Status.FAIL for finding in findings):
        context.exit(1)


def _configuration(profile: Profile) -> Finding:
    if not profile.source:
        hint = "write ~/.config/lbr/config.toml, or start a sandbox: lbr sandbox up"
        return warn("configuration", "no file; flags, environment and defaults apply", hint)
    return ok("configuration", f"profile {profile.name!r} of {profile.source}")


async def _examine(profile: Profile) -> list[Finding]:
    address = settings(profile).get("target_host", "")
    try:
        client = await connect(profile)
    except PoolsError as error:
        return [fail("temporal", error.message, error.hint)]
    findings = [ok("temporal", f"answers at {address}")]
    findings += [finding async for finding in check_server(client)]
    if not profile.organization:
        hint = "give --org NAME, or put organization into the profile"
        return [*findings, warn("organization", "none is given, so none is checked", hint)]
    session = Session(client, profile.organization)
    return [*findings, *[finding async for finding in check_organization(session, profile)]]
