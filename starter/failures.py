"""How a command ends badly: one error and its next step, as text or as JSON, and the exit code."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import click

from starter.invocation import Format, Invocation

INTERRUPTED = 130  # 128 + SIGINT, as shells have it
_TOKEN = re.compile(r"[A-Za-z0-9]{64,}")


@dataclass(frozen=True)
class Failure:
    """What is told of an error."""

    code: str
    message: str
    hint: str
    exit_code: int


def exit_code(error: BaseException, invocation: Invocation) -> int:
    """Report `error` on standard error and return the exit code that stands for it. What is no refusal is raised."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return error.exit_code
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    failure = _failure(error, invocation)
    message, hint = withhold_tokens(failure.message), withhold_tokens(failure.hint)
    if invocation.format is Format.JSON:
        click.echo(json.dumps({"code": failure.code, "message": message, "hint": hint}, indent=2), err=True)
        return failure.exit_code
    click.echo(f"error: {message}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)
    return failure.exit_code


def withhold_tokens(text: str) -> str:
    """`text` without anything of a token's form: a token given in a name's place must not be echoed."""
    return _TOKEN.sub("[withheld: it has the form of a token]", text)


def _failure(error: BaseException, invocation: Invocation) -> Failure:
    from core.errors import PoolsError  # not at the top: it brings pydantic, and `lbr --help` should be quick

    match error:
        case PoolsError():
            return Failure(error.code, error.message, error.hint, error.exit_code)
        case click.UsageError():
            path = error.ctx.command_path if error.ctx else "lbr"
            return Failure("Usage", error.format_message(), f"{path} --help", error.exit_code)
        case click.ClickException():
            return Failure("Failure", error.format_message(), "", error.exit_code)
        case KeyboardInterrupt() | click.Abort():
            if invocation.follow:
                text = "interrupted: what was asked for goes on"
                return Failure("Interrupted", text, f"follow it: {invocation.follow}", INTERRUPTED)
            return Failure("Interrupted", "interrupted", "", INTERRUPTED)
        case _:
            raise error
