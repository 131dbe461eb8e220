"""What every command shares: where it was pointed to, how it answers, and the options that say so."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Format(StrEnum):
    """How data is printed: for a person, in more columns, for a program, or as bare names."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


@dataclass
class Invocation:
    """One run of `lbr`. `follow` is how to watch the work that goes on when the command is interrupted."""

    profile: str | None = None
    organization: str | None = None
    format: Format = Format.TABLE
    header: bool = True
    follow: str = ""


def format_in(arguments: Sequence[str]) -> Format:
    """The output format that `arguments` ask for, read before they are parsed: errors of parsing obey it too."""
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=False):
        asked = following if argument in ("-o", "--output") else argument.removeprefix("--output=")
        if argument.startswith(("-o", "--output")) and asked.removeprefix("-o") in tuple(Format):
            return Format(asked.removeprefix("-o"))
    return Format.TABLE


def _remember(field: str, convert: Callable[[Any], Any] = str) -> Callable[[click.Context, click.Parameter, Any], None]:
    """An option's callback: keep its value, if it is given, in the invocation's `field`."""

    def remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        invocation = context.find_object(Invocation)
        if value is not None and invocation is not None:
            setattr(invocation, field, convert(value))

    return remember


def target_options(command: Decorated) -> Decorated:
    """Add `--profile` and `--org`, which may stand before or after a command's name."""
    profile = click.option(
        "--profile",
        metavar="NAME",
        expose_value=False,
        callback=_remember("profile"),
        help="Profile of the configuration file to use. Also: LBR_PROFILE.",
    )
    organization = click.option(
        "--org",
        metavar="NAME",
        expose_value=False,
        callback=_remember("organization"),
        help="Organization to act for. Also: LBR_ORG, or the profile's.",
    )
    return profile(organization(command))


def output_options(command: Decorated) -> Decorated:
    """Add `-o` and `--no-header` to a command that prints data."""
    form = click.option(
        "-o",
        "--output",
        type=click.Choice([form.value for form in Format]),
        expose_value=False,
        callback=_remember("format", Format),
        help="How to print the result.  [default: table]",
    )
    header = click.option(
        "--no-header",
        is_flag=True,
        expose_value=False,
        callback=_remember("header", operator.not_),
        help="Leave a table's header line out.",
    )
    return form(header(target_options(command)))
