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

GAP = "   "

# Words that a reader looks for. On a terminal they carry a colour as well, never a colour alone.
_COLOURS = {
    "green": ("Ready", "Valid", "ok"),
    "yellow": ("Unknown", "Paused", "warn"),
    "red": ("Invalid", "fail"),
}
_COLOUR_OF = {word: colour for colour, words in _COLOURS.items() for word in words}


@dataclass(frozen=True)
class Column(Generic[Item]):
    """A table's column.

    `wide` ones show with `-o wide`, `status` ones are coloured, and a `text` one, which comes last, ends at the
    terminal's edge unless the table is wide.
    """

    title: str
    cell: Callable[[Item], object]
    wide: bool = False
    status: bool = False
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
            wide = invocation.format is Format.WIDE
            for line in table(items, columns, wide=wide, header=invocation.header):
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


def table(
    items: Sequence[Item],
    columns: Sequence[Column[Item]],
    *,
    wide: bool = False,
    header: bool = True,
    indent: str = "",
) -> list[str]:
    """The lines of a table; none for no items."""
    shown = [column for column in columns if wide or not column.wide]
    rows = [[str(column.cell(item)) for column in shown] for item in items]
    if rows and header:
        rows.insert(0, [column.title for column in shown])
    widths = [max(len(row[i]) for row in rows) for i in range(len(shown))] if rows else []
    room = _room(widths, indent) if shown[-1].text and not wide and sys.stdout.isatty() else None
    return [_line(row, shown, widths, room, indent) for row in rows]


def _room(widths: Sequence[int], indent: str) -> int:
    used = sum(widths[:-1]) + len(GAP) * (len(widths) - 1) + len(indent)
    return max(12, shutil.get_terminal_size().columns - used)


def _line(
    row: Sequence[str], columns: Sequence[Column[Item]], widths: Sequence[int], room: int | None, indent: str
) -> str:
    last = row[-1] if room is None or len(row[-1]) <= room else row[-1][: room - 1] + "…"
    cells = [
        _painted(cell, width) if column.status else cell.ljust(width)
        for cell, width, column in zip(row[:-1], widths[:-1], columns[:-1], strict=True)
    ]
    return (indent + GAP.join([*cells, last])).rstrip()


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
