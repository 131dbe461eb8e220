"""`lbr keys generate`: the platform's key pair."""

from __future__ import annotations

import os
from pathlib import Path

import click
from pydantic import BaseModel

from core.errors import Conflict, PoolsError
from core.sealing import PlatformKey
from starter.invocation import Invocation, output_options
from starter.output import say, show_one

PRIVATE = "platform-key.pem"
PUBLIC = "platform-key.pub"


class KeyPair(BaseModel):
    """Where a new pair lies, and the public half."""

    key_id: str
    private_file: str
    public_file: str
    public_key: str


@click.command()
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=".",
    show_default=True,
    help="The folder to put both files in.",
)
@output_options
@click.pass_obj
def generate(invocation: Invocation, folder: Path) -> None:
    """Make the platform's key pair: platform-key.pem for workers alone, platform-key.pub for every client.

    Files that exist are never replaced: secrets sealed to a lost key cannot be opened again.
    """
    key = PlatformKey.generate()
    private, public = folder / PRIVATE, folder / PUBLIC
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_new(private, key.to_pem(), 0o600)
        _write_new(public, f"{key.public.to_text()}\n".encode(), 0o644)
    except FileExistsError as error:
        raise Conflict(f"{error.filename} exists and is not replaced", hint="choose another --dir") from error
    except OSError as error:
        raise PoolsError(
            f"{error.filename} cannot be written: {error.strerror}", hint="choose another --dir"
        ) from error
    pair = KeyPair(
        key_id=key.public.key_id,
        private_file=str(private),
        public_file=str(public),
        public_key=key.public.to_text(),
    )
    show_one(invocation, pair, pair.key_id, f"key {pair.key_id}: {private} (keep it to the workers), {public}")
    say(f'next: put public_key = "{pair.public_key}" into the profile of every client')


def _write_new(path: Path, content: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
