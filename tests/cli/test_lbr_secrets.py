"""A token gets in by four ways, is checked before it is sent, and no part of it is ever shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from lbr_runner import Lbr

TOKEN = "Canary0123456789" * 4
PIECES = (TOKEN, TOKEN[:16], TOKEN[-8:])


def assert_silent(*texts: str) -> None:
    """No piece of the token is in any of `texts`."""
    for text in texts:
        assert not any(piece in text for piece in PIECES)


@pytest.mark.parametrize("way", ["value", "stdin", "file"])
@pytest.mark.parametrize("command", ["create", "rotate"])
def test_each_way_leads_to_the_network(lbr: Lbr, tmp_path: Path, command: str, way: str) -> None:
    """White space around it, and line breaks in it, do not matter."""
    file = tmp_path / "token"
    file.write_text(f"  {TOKEN[:30]}\n{TOKEN[30:]}\r\n")
    options = {"value": ["--token", TOKEN], "stdin": ["--token", "-"], "file": ["--token-file", str(file)]}[way]
    result = lbr("cloud-credential", command, "hetzner-prod", *options, stdin=f"{TOKEN}\n")
    assert result.code == 1
    assert "Temporal does not answer" in result.stderr
    assert ("visible to other users (ps)" in result.stderr) == (way == "value")
    assert_silent(result.stdout, result.stderr)


@pytest.mark.parametrize("token", [TOKEN[:-1], TOKEN + "x", TOKEN[:-1] + "!", "", "-" * 64])
def test_a_token_of_the_wrong_form_is_refused_before_the_network(lbr: Lbr, token: str) -> None:
    """With its length at most."""
    result = lbr("cloud-credential", "create", "hetzner-prod", f"--token={token}")
    assert result.code == 2
    assert "64 letters and digits" in result.stderr
    assert_silent(result.stdout, result.stderr)


def test_without_a_terminal_and_a_token_the_ways_are_named(lbr: Lbr) -> None:
    """All three."""
    result = lbr("cloud-credential", "create", "hetzner-prod")
    assert result.code == 2
    assert all(way in result.stderr for way in ("--token -", "--token-file", "prompt"))


@pytest.mark.parametrize(
    "line",
    [
        ("cloud-credential", "create", TOKEN),
        ("cloud-credential", "create", "hetzner-prod", TOKEN),
        ("cloud-credential", "create", "hetzner-prod", "--token", TOKEN[:20], TOKEN[20:40], TOKEN[40:]),
        ("cloud-credential", "create", "hetzner-prod", "--token-file", TOKEN),
        ("cloud-credential", "create", TOKEN, "--token", "-"),
        ("cloud-credential", "create", f"{TOKEN}0", "--token", "-"),
        ("cloud-credential", "delete", f"{TOKEN}!", "x"),
        ("cloud-credential", TOKEN),
        (TOKEN,),
    ],
)
@pytest.mark.parametrize("form", ["table", "json"])
def test_a_token_in_the_wrong_place_is_not_repeated(lbr: Lbr, line: tuple[str, ...], form: str) -> None:
    """Not as a name, not as a word too many, not as a path."""
    result = lbr(*line, "-o", form)
    assert result.code == 2
    assert_silent(result.stdout, result.stderr)
