"""Takes a cloud API token in, without showing any part of it, and seals it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from uuid import uuid4

import click

from core.errors import FieldRefused, PoolsError
from core.names import check_name
from core.sealing import PublicKey, SealedSecret
from starter.output import say
from starter.profile import Profile

_FORM = re.compile(r"[A-Za-z0-9]{64}\Z")  # Hetzner Cloud API tokens
_WAYS = "give it with --token - (standard input), --token-file FILE, or at the prompt of a terminal"


def check_credential_name(name: str) -> None:
    """Refuse what cannot be a credential's name, without repeating it: it may be a token in the wrong place.

    Raises FieldRefused.
    """
    try:
        check_name("NAME", name)
    except FieldRefused:
        rule = "is not a name of 63 lower-case letters, digits and '-' at most; it is not shown, it may be a token"
        raise FieldRefused("NAME", rule, hint=f"for example hetzner-prod; the token: {_WAYS}") from None


def read_token(value: str | None, file: Path | None) -> str:
    """The token from `--token`, `--token-file` or a hidden prompt, checked for its form.

    Raises FieldRefused, which never holds any part of what was given.
    """
    if value is not None and file is not None:
        raise FieldRefused("--token", "cannot be given together with --token-file", hint=_WAYS)
    token = "".join(_given(value, file).split())
    if not _FORM.match(token):
        raise FieldRefused(
            "--token",
            f"has {len(token)} characters or signs that no token has; a token is 64 letters and digits",
            hint="copy it anew from the Hetzner Console: Security, API tokens",
        )
    return token


def _given(value: str | None, file: Path | None) -> str:
    if file is not None:
        return _from_file(file)
    if value == "-":
        return sys.stdin.read()
    if value is not None:
        say("warning: --token VALUE is visible to other users (ps); --token -, --token-file and the prompt are not")
        return value
    if not sys.stdin.isatty():
        raise FieldRefused("--token", "no token is given", hint=_WAYS)
    prompted: str = click.prompt("Hetzner Cloud API token (not shown)", hide_input=True, err=True)
    return prompted


def _from_file(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        # The path is left out: the likeliest wrong path is the token itself.
        raise FieldRefused("--token-file", f"cannot be read: {reason}", hint=_WAYS) from None


def public_key(profile: Profile) -> PublicKey:
    """The platform's public key. Raises PoolsError where the profile has none."""
    if not profile.public_key:
        raise PoolsError(
            "no public key is configured, so nothing can be sealed",
            hint='put public_key = "..." (from `lbr keys generate`, or from your administrator) into the profile',
        )
    return PublicKey.from_text(profile.public_key)


def seal(key: PublicKey, secret: str, organization: str, kind: str, name: str) -> SealedSecret:
    """`secret` under a version of its own."""
    return key.seal(secret, organization, kind, name, version=uuid4().hex)


class SecretCommand(click.Command):
    """A command that takes a token: a word too many may be a piece of it, so it is not repeated in the error."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as usual, but withhold words that fit nowhere."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if type(error) is click.UsageError and "extra argument" in error.message:
                message = "there are words too many; they are not shown, for they may be a part of a token"
                raise click.UsageError(message, ctx) from None
            raise
