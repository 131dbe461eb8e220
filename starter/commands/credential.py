"""`lbr cloud-credential create|list|delete`: tokens go in sealed and never come out."""

from __future__ import annotations

from pathlib import Path

import click

from core.calls import Named
from core.views import CredentialRow
from starter import targets
from starter.arguments import token_file_option, token_option
from starter.invocation import Invocation, output_options
from starter.live_names import complete_credential
from starter.output import Column, say, show_list, show_one
from starter.reads import credentials
from starter.running import profile_of, run
from starter.secrets_in import SecretCommand, check_credential_name, public_key, read_token, seal
from starter.session import Session
from starter.times import age
from workflows.messages import Done, StoreCredential

COLUMNS: list[Column[CredentialRow]] = [
    Column("NAME", lambda row: row.name),
    Column("CLOUD", lambda row: row.cloud),
    Column("HEALTH", lambda row: row.health.value, status=True),
    Column("SINCE", lambda row: age(row.since), wide=True),
    Column("PROBED", lambda row: age(row.probed_at)),
    Column("POOLS", lambda row: len(row.pools)),
    Column("USED-BY", lambda row: ",".join(row.pools) or "-", wide=True),
    Column("MESSAGE", lambda row: row.message or row.reason, text=True),
]


@click.command(cls=SecretCommand)
@click.argument("name")
@token_option
@token_file_option
@output_options
@click.pass_obj
def create(invocation: Invocation, name: str, token: str | None, token_file: Path | None) -> None:
    """Store a Hetzner Cloud API token as credential NAME.

    The token needs Read & Write on the project that is to hold the nodes. It is sealed to the platform's
    public key before it leaves this process, tried once, and never shown again.
    """
    row = store(invocation, "create_credential", name, token, token_file)
    show_one(invocation, row, row.name, f"credential {row.name} stored: {standing(row)}")
    say(f"next: give it to a pool: lbr cp pool create CLUSTER POOL --credential {row.name} ...")


def store(invocation: Invocation, update: str, name: str, token: str | None, token_file: Path | None) -> CredentialRow:
    """Read and seal a token and send it with `update`. All that can be refused here is, before any connection."""
    check_credential_name(name)
    key = public_key(profile_of(invocation))
    secret = read_token(token, token_file)

    async def work(session: Session) -> CredentialRow:
        sealed = seal(key, secret, session.organization, "credential", name)
        target = targets.organization(session.organization)
        return await session.update(target, update, StoreCredential(name=name, sealed=sealed), CredentialRow)

    return run(invocation, work)


def standing(row: CredentialRow) -> str:
    """Health in words."""
    return f"{row.health.value}, {row.message or row.reason}" if row.message or row.reason else row.health.value


@click.command("list")
@output_options
@click.pass_obj
def list_credentials(invocation: Invocation) -> None:
    """List the organization's cloud credentials: health and use, never the secret."""
    rows = run(invocation, credentials)
    show_list(invocation, rows, COLUMNS, lambda row: row.name)
    if not rows:
        say("no cloud credential is stored; store one: lbr cloud-credential create NAME")


@click.command(cls=SecretCommand)
@click.argument("name", shell_complete=complete_credential)
@output_options
@click.pass_obj
def delete(invocation: Invocation, name: str) -> None:
    """Delete credential NAME. Refused while a pool uses it."""
    check_credential_name(name)

    async def work(session: Session) -> Done:
        target = targets.organization(session.organization)
        return await session.update(target, "delete_credential", Named(name=name), Done)

    done = run(invocation, work)
    show_one(invocation, done, name, f"credential {name} deleted")
