"""Prints data on standard output: tables for people, JSON and YAML for programs, names for shell loops."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import click
from pydantic import BaseModel

from starter.invocation import Format, Invocation

Item = TypeVar("Item", bound=BaseModel)

# Words that a reader looks for. On a terminal they carry a colour as well, never a colour alone.
_COLOURS = {
    "green": ("Ready", "Valid", "ok"),
    "yellow": ("Unknown", "Paused", "warn"),
    "red": ("Invalid", "fail"),
}
_COLOUR_OF = {word: colour for colour, words in _COLOURS.items() for word in words}


@dataclass(frozen=True)
class Column(Generic[Item]):
    """A table's column. `wide` ones show with `-o wide`; a `text` one is the last and may be cut on a terminal."""

    title: str
    cell: Callable[[Item], object]
    wide: bool = False
    text: bool = False


def show_list(
    invocation: Invocation, items: Sequence[Item], columns: Sequence[Column[Item]], name: Callable[[Item], str]
) -> None:
    """Print `items` in the format that was asked for."""
    match invocation.format:
        case Format.JSON | Format.YAML:
            _dump(invocation.format, [item.model_dump(mode="json") for item in items])
        case Format.NAME:
            for item in items:
                click.echo(name(item))
        case Format.TABLE | Format.WIDE:
            shown = [column for column in columns if not column.wide or invocation.format is Format.WIDE]
            rows = [[str(column.cell(item)) for column in shown] for item in items]
            titles = [column.title for column in shown] if invocation.header and items else None
            cut = shown[-1].text and invocation.format is Format.TABLE
            for line in table(rows, titles, cut_last=cut):
                click.echo(line)


def show_one(invocation: Invocation, item: BaseModel, name: str, text: str) -> None:
    """Print one thing: its fields for a program, its `name`, or `text` for a person."""
    match invocation.format:
        case Format.JSON | Format.YAML:
            _dump(invocation.format, item.model_dump(mode="json"))
        case Format.NAME:
            click.echo(name)
        case Format.TABLE | Format.WIDE:
            click.echo(text)


def say(message: str) -> None:
    """Print a message on standard error."""
    click.echo(message, err=True)


def table(rows: Sequence[Sequence[str]], titles: Sequence[str] | None, *, cut_last: bool = False) -> list[str]:
    """The lines of a table. With `cut_last`, the last column ends at the terminal's edge, if there is a terminal."""
    everything = [list(row) for row in ([titles] if titles else [])] + [list(row) for row in rows]
    if not everything:
        return []
    widths = [max(len(row[i]) for row in everything) for i in range(len(everything[0]))]
    room = _room(widths) if cut_last and sys.stdout.isatty() else None
    lines = []
    for row in everything:
        last = row[-1] if room is None or len(row[-1]) <= room else row[-1][: room - 1] + "…"
        cells = [_painted(cell, width) for cell, width in zip(row[:-1], widths[:-1], strict=True)]
        lines.append("   ".join([*cells, _painted(last, 0)]).rstrip())
    return lines


def _room(widths: Sequence[int]) -> int:
    return max(12, shutil.get_terminal_size().columns - sum(widths[:-1]) - 3 * (len(widths) - 1))


def _painted(cell: str, width: int) -> str:
    padded = cell.ljust(width)
    colour = _COLOUR_OF.get(cell)
    if colour is None or os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return padded
    return padded.replace(cell, click.style(cell, fg=colour), 1)


def _dump(form: Format, data: Any) -> None:
    if form is Format.JSON:
        click.echo(json.dumps(data, indent=2))
        return
    import yaml  # only here: no other format needs it

    click.echo(yaml.safe_dump(data, sort_keys=False, allow_unicode=True), nl=False)
