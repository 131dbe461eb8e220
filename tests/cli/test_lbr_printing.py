"""How data is printed: tables, documents, names; ages and durations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import click
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from core.durations import spelled
from core.usage import UsageLine, UsageReport
from starter.invocation import Format, Invocation, format_in
from starter.output import Column, show_list, table
from starter.times import DURATION, age

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
LINES = [
    UsageLine(pool_id=name, cluster="prod", pool=name, report=UsageReport(pool_hours=1.5, node_hours=hours, at=NOW))
    for name, hours in (("workers", 12.25), ("b", 0.0))
]
COLUMNS: list[Column[UsageLine]] = [
    Column("POOL", lambda line: line.pool),
    Column("HOURS", lambda line: line.report.node_hours),
    Column("ID", lambda line: f"id-{line.pool_id}", wide=True),
]


def printed(form: Format, capsys: pytest.CaptureFixture[str], *, header: bool = True) -> str:
    """What `show_list` prints."""
    show_list(Invocation(format=form, header=header), LINES, COLUMNS, lambda line: line.pool)
    return capsys.readouterr().out


def test_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """Columns are aligned, and wide ones are left out."""
    assert printed(Format.TABLE, capsys) == "POOL      HOURS\nworkers   12.25\nb         0.0\n"
    assert printed(Format.TABLE, capsys, header=False) == "workers   12.25\nb         0.0\n"
    assert printed(Format.WIDE, capsys).splitlines()[1] == "workers   12.25   id-workers"


def test_documents(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON and YAML say the same, with times in RFC 3339."""
    from_yaml = yaml.safe_load(printed(Format.YAML, capsys))
    assert from_yaml == yaml.safe_load(printed(Format.JSON, capsys))
    assert from_yaml[0]["report"]["at"] == "2026-12-01T12:00:00Z"


def test_names(capsys: pytest.CaptureFixture[str]) -> None:
    """One a line, for shell loops."""
    assert printed(Format.NAME, capsys) == "workers\nb\n"


def test_nothing_is_cut_without_a_terminal() -> None:
    """A program gets all of the text."""
    columns: list[Column[UsageLine]] = [Column("TEXT", lambda line: "b" * 300, text=True)]
    assert table(LINES[:1], columns, header=False) == ["b" * 300]


@pytest.mark.parametrize(
    ("arguments", "form"),
    [
        (["cp", "list", "-o", "json"], Format.JSON),
        (["cp", "list", "-ojson"], Format.JSON),
        (["--output=yaml", "cp"], Format.YAML),
        (["cp", "list", "--output", "name"], Format.NAME),
        (["cp", "list", "-o"], Format.TABLE),
        (["cp", "list", "json"], Format.TABLE),
        ([], Format.TABLE),
    ],
)
def test_the_format_is_known_before_parsing(arguments: list[str], form: Format) -> None:
    """So that errors of parsing are printed in it."""
    assert format_in(arguments) is form


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (119, "119s"), (120, "2m"), (310, "5m10s"), (3600, "60m"), (7200, "2h"), (172800, "2d"), (-5, "0s")],
)
def test_ages(seconds: int, text: str) -> None:
    """One or two units; a clock that is behind makes nothing negative."""
    assert age(NOW - timedelta(seconds=seconds), NOW) == text
    assert age(None, NOW) == "-"


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("1h30m", 5400), ("2d", 172800), ("45", 45)])
def test_durations(text: str, seconds: int) -> None:
    """As people write them."""
    assert DURATION.convert(text, None, None) == timedelta(seconds=seconds)


@given(st.integers(0, 10**9))
def test_durations_are_printed_as_they_may_be_given(seconds: int) -> None:
    """What a table shows is what an option takes."""
    assert DURATION.convert(spelled(timedelta(seconds=seconds)), None, None) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (600, "10m"), (5400, "1h30m"), (604801, "7d1s"), (-90, "-1m30s")]
)
def test_printed_durations(seconds: int, text: str) -> None:
    """Without the units that are none."""
    assert spelled(timedelta(seconds=seconds)) == text


def test_a_duration_beyond_all_bounds() -> None:
    """A usage error too."""
    with pytest.raises(click.BadParameter, match="longer than any duration"):
        DURATION.convert("99999999999d", None, None)


@pytest.mark.parametrize("text", ["", "soon", "10x", "-5m", "m"])
def test_what_is_no_duration(text: str) -> None:
    """A usage error that gives an example."""
    with pytest.raises(click.BadParameter, match="1h30m"):
        DURATION.convert(text, None, None)
