"""`lbr cloud-credential rotate`: a new token in the old one's place."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import click

from core.conditions import ConditionType
from core.views import CredentialRow
from starter.arguments import token_file_option, token_option, wait_options
from starter.commands.credential import standing, store
from starter.invocation import Invocation, output_options
from starter.live_names import complete_credential
from starter.output import show_one
from starter.reads import pool_view, pools
from starter.running import run
from starter.secrets_in import SecretCommand
from starter.session import Session
from starter.waiting import until


@click.command(cls=SecretCommand)
@click.argument("name", shell_complete=complete_credential)
@token_option
@token_file_option
@wait_options
@output_options
@click.pass_obj
def rotate(
    invocation: Invocation, *, name: str, token: str | None, token_file: Path | None, wait: bool, timeout: timedelta
) -> None:
    """Replace the token of credential NAME.

    A token that fails its probe is refused and the old one stays. Running pools take the new one at their next
    step; --wait waits until no pool is held by an invalid credential.
    """
    row = store(invocation, "rotate_credential", name, token, token_file)
    if wait:
        invocation.follow = "lbr cp pool list"
        run(invocation, lambda session: _until_released(session, row, timeout))
    show_one(invocation, row, row.name, f"credential {row.name} rotated: {standing(row)}")


async def _until_released(session: Session, row: CredentialRow, timeout: timedelta) -> None:
    async def look() -> tuple[bool, str]:
        using = [pool for pool in await pools(session, None) if pool.credential == row.name]
        held = [f"{p.cluster}/{p.name}" for p in using if await _held(session, p.cluster, p.name)]
        return not held, f"held by the credential: {', '.join(held) or 'no pool'}"

    await until(look, timeout=timeout, what=f"pools on {row.name} are held", follow="lbr cp pool list")


async def _held(session: Session, cluster: str, pool: str) -> bool:
    view = await pool_view(session, cluster, pool)
    return any(c.type is ConditionType.CREDENTIAL_INVALID and c.status for c in view.conditions)
