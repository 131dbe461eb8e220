"""The documents say what the code says, name only what exists, and leave nothing out."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from core.conditions import ConditionType
from core.errors import PoolsError

ROOT = Path(__file__).parents[2]
PAGES = [path for path in ROOT.rglob("*.md") if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)]
REFERENCE = ROOT / "docs/reference"
VARIABLE = re.compile(r"(?:LBR|HCLOUD|TEMPORAL|XDG)_[A-Z_]+|NO_COLOR")


def load_generator() -> ModuleType:
    """docs/generate.py, which is a script and no package."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATED: dict[str, str] = load_generator().documents()


def name(page: Path) -> str:
    """A page's path, as a test's id."""
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", GENERATED)
def test_the_reference_is_the_newest(page: str) -> None:
    """Otherwise: make docs."""
    assert (REFERENCE / page).read_text(encoding="utf-8") == GENERATED[page]


def test_exit_codes_are_the_documented_ones() -> None:
    """Scripts rely on these numbers."""
    rows = re.findall(r"^\|[^|]*\| (\d+) \|", GENERATED["errors.md"], re.MULTILINE)
    assert set(rows) == {"0", "1", "2", "3", "4", "5", "6", "7", "130"}
    assert {str(kind.exit_code) for kind in PoolsError.__subclasses__()} <= set(rows)


def test_every_condition_has_a_way_out() -> None:
    """The operator's table has a row for each."""
    text = (ROOT / "docs/operations.md").read_text(encoding="utf-8").partition("## Troubleshooting")[2]
    told = re.findall(r"^\| `(\w+)`", text, re.MULTILINE)
    assert told == [str(condition) for condition in ConditionType]


def variables(folder: str) -> set[str]:
    """Every string in a folder's code that is the name of an environment variable."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / folder).rglob("*.py")]
    texts = (node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {text for text in texts if isinstance(text, str) and VARIABLE.fullmatch(text)}


@pytest.mark.parametrize("folder", ["worker", "starter", "sandbox"])
def test_every_environment_variable_is_documented(folder: str) -> None:
    """What code reads is in the table."""
    text = (REFERENCE / "environment.md").read_text(encoding="utf-8")
    assert {variable for variable in variables(folder) if f"`{variable}`" not in text} == set()


def test_no_variable_is_documented_that_nobody_reads() -> None:
    """Our own ones; Temporal's are read by its library."""
    text = (REFERENCE / "environment.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`((?:LBR|HCLOUD)_[A-Z_]+)`", text))
    assert told <= variables("worker") | variables("starter")


def targets() -> set[str]:
    """What `make` can do."""
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_make_target_that_a_page_names_exists(page: Path) -> None:
    """In code, inline or in blocks."""
    text = page.read_text(encoding="utf-8")
    code = [*re.findall(r"`([^`\n]+)`", text), *"\n".join(re.findall(r"^```.*?^```", text, re.M | re.S)).splitlines()]
    used = {found for line in code for found in re.findall(r"(?:^|[;&=\d] ?)make ([a-z][a-z-]*)", line.strip())}
    assert used <= targets()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    """Headings included."""
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, heading = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (heading and heading not in anchors(target)):
            broken.append(link)
    assert broken == []


def anchors(page: Path) -> set[str]:
    """The headings of a page, as addresses."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
