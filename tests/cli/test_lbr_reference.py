"""The reference is what the commands say of themselves, and nothing of them is missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from core.errors import PoolsError
from starter.reference import reference
from starter.tree import cli

PAGE = Path(__file__).parents[2] / "docs/reference/cli.md"


def leaves(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """All commands that do something, with their paths."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from leaves(found, f"{path} {name}")


COMMANDS = dict(leaves(cli, "lbr"))


def test_the_page_is_the_newest() -> None:
    """Otherwise: python -m starter.reference > docs/reference/cli.md."""
    assert PAGE.read_text() == reference()


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_and_option_is_explained(path: str) -> None:
    """Hidden ones aside, which exist to be refused."""
    section = reference().partition(f"### `{path}`\n")[2].partition("\n### ")[0]
    command = COMMANDS[path]
    assert command.help
    assert section
    shared = ("--help", "--profile", "--org", "--output", "--no-header")
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden and option.opts[-1] not in shared:
            assert option.help
            assert option.opts[-1] in section


def test_every_exit_code_is_listed() -> None:
    """One row for each kind of error."""
    table = reference().partition("## Exit codes")[2].partition("## Commands")[0]
    rows = {tuple(cell.strip() for cell in line.split("|")[1:3]) for line in table.splitlines() if line.startswith("|")}
    for kind in PoolsError.__subclasses__():
        if kind.__module__.startswith("core."):
            assert (str(kind.exit_code), f"`{kind.code}`") in rows
    assert {code for code, _ in rows} >= {"0", "1", "2", "3", "4", "5", "6", "7", "130"}
