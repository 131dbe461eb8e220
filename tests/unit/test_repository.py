"""What must hold of the tree as a whole: size, docstrings, words and folders."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("core", "workflows", "activities", "worker", "starter", "sandbox")
FOLDERS = {*PACKAGES, "console", "tests", "deploy", "docs", "bench", ".ci"}
LONGEST = 500  # lines; a module of that size has more than one idea


def tracked() -> list[Path]:
    """Every file that a fresh clone has, and those about to be added."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


FILES = tracked()
MODULES = [path for path in FILES if path.suffix == ".py"]


def named(path: Path) -> str:
    """A file's path inside the repository."""
    return path.relative_to(ROOT).as_posix()


def test_no_module_is_longer_than_a_person_reads() -> None:
    """Split by idea, not by size."""
    lengths = {named(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def test_every_module_says_what_it_is_for() -> None:
    """Empty ones, which only mark a package, have nothing to say."""
    sources = {named(path): path.read_text(encoding="utf-8") for path in MODULES}
    assert [name for name, text in sources.items() if text.strip() and not ast.get_docstring(ast.parse(text))] == []


def test_every_folder_with_code_is_a_package() -> None:
    """Otherwise an installation that is not editable would lack it."""
    folders = {path.parent for path in MODULES if path.relative_to(ROOT).parts[0] in PACKAGES}
    assert [named(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_the_top_level_is_known() -> None:
    """A new folder is a decision: it goes into the architecture page's table, and here."""
    found = {path.relative_to(ROOT).parts[0] for path in FILES if len(path.relative_to(ROOT).parts) > 1}
    assert found - FOLDERS == set()


# In two halves each, so that this file does not find itself.
UNWANTED = {
    "a package registry's address": "|".join(
        re.escape(first + second)
        for first, second in (
            ("pypi", ".org"),
            ("python", "hosted.org"),
            ("registry.", "npmjs"),
            ("proxy.", "golang"),
            ("deb.", "debian.org"),
            ("static.", "crates.io"),
            ("--index", "-url"),
        )
    ),
    "a path of one machine": r"(?<![\w.}~-])/(?:" + "wo" + "rk|ro" + r"ot|home/[a-z]+)/",
    "work left to do": r"\b(?:" + "TO" + "DO|FIX" + r"ME)\b",
    "an author's tool": "Co-" + "Authored|Generated " + "with",
    "a token or key": r"-----BEGIN (?:RSA |EC )?PRIVATE" + " KEY|gh[pousr]_" + r"[A-Za-z0-9]{36}|AKIA[0-9A-Z]{16}",
}


@pytest.mark.parametrize("what", UNWANTED)
def test_nothing_unwanted_is_written_anywhere(what: str) -> None:
    """The repository speaks of the project, on any machine."""
    pattern = re.compile(UNWANTED[what])
    found = []
    for path in FILES:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue  # a picture
        found += [f"{named(path)}:{number}" for number, line in enumerate(lines, 1) if pattern.search(line)]
    assert found == []


def test_constraints_pin_names_to_versions_and_say_nothing_else() -> None:
    """No address, no path, no range: the same environment everywhere."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert [line for line in pins if not re.fullmatch(r"[A-Za-z0-9][\w.-]*==[\w.+!]+", line)] == []
    assert pins == sorted(pins, key=str.casefold)


def test_every_declared_package_is_pinned() -> None:
    """What pyproject.toml asks for, constraints.txt decides."""
    declared = re.findall(r'^  ?"([A-Za-z][\w-]*)[>=;" ]', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    pinned = {
        line.partition("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    }
    assert "pydantic" in declared
    assert [name for name in declared if name.lower() not in pinned] == []
