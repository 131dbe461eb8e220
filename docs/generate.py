"""Writes docs/reference from the code: `python docs/generate.py`. A test compares the files with a fresh run.

Names and meanings come from where they are decided: the members of the enumerations in `core/` with the comment
that ends each member's line, and the docstrings of the errors. A member without such a comment is a fault.
"""

from __future__ import annotations

import ast
import inspect
import io
import tokenize
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from types import ModuleType

from core import cloud_errors, conditions, errors, events, machine
from core.autoscale import reasons

FOLDER = Path(__file__).parent / "reference"
INTERRUPTED = 130  # a shell's 128 + SIGINT


def documents() -> dict[str, str]:
    """File name -> text of every generated page."""
    return {
        "conditions.md": _page("Conditions", _CONDITIONS, _meanings(conditions.ConditionType), _PHASES, _phases()),
        "events.md": _page("Events", _EVENTS, _meanings(events.Reason)),
        "autoscaling.md": _page("Reasons of the autoscaler", _AUTOSCALING, *_reasons()),
        "errors.md": _page("Errors", _ERRORS, _refusals(), _CLOUD, _cloud_classes()),
    }


def comments(enumeration: type[StrEnum]) -> dict[str, str]:
    """Member name -> the comment at the end of its line. Raises ValueError for a member without one."""
    source = inspect.getsource(enumeration)
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    by_line = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)
    lines = {_target(node): node.end_lineno or 0 for node in body.body if isinstance(node, ast.Assign)}
    found = {name: by_line.get(line, "") for name, line in lines.items() if name in enumeration.__members__}
    if missing := [name for name, text in found.items() if not text]:
        raise ValueError(f"{enumeration.__name__} says nothing about {', '.join(missing)}")
    return found


def _target(node: ast.Assign) -> str:
    target = node.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _meanings(enumeration: type[StrEnum]) -> str:
    rows = ((f"`{enumeration[name]}`", text) for name, text in comments(enumeration).items())
    return _table(("name", "meaning"), rows)


def _reasons() -> Iterator[str]:
    """A heading and a table for each list of the autoscaler's reasons."""
    for title, kind in _REASONS.items():
        rows = ((f"`{member.value}`", member.meaning) for member in kind)
        yield f"## {title}\n\n{_table(('reason', 'meaning'), rows)}"


def _phases() -> str:
    limits = {phase.name: f"{limit.total_seconds() / 60:.0f} min" for phase, limit in machine.DEADLINES.items()}
    told = comments(machine.Phase)
    rows = ((f"`{machine.Phase[name]}`", text, limits.get(name, "")) for name, text in told.items())
    return _table(("phase", "meaning", "deadline"), rows)


def _refusals() -> str:
    kinds = sorted(_errors(errors), key=lambda kind: kind.exit_code)
    rows = [(f"`{kind.code}`", str(kind.exit_code), _first_paragraph(kind)) for kind in kinds]
    interrupted = ("", str(INTERRUPTED), "Interrupted from the keyboard. Work that was accepted goes on.")
    return _table(("code", "exit code of `lbr`", "meaning"), [("", "0", "Done."), *rows, interrupted])


def _errors(module: ModuleType) -> Iterator[type[errors.PoolsError]]:
    for kind in vars(module).values():
        if inspect.isclass(kind) and issubclass(kind, errors.PoolsError):
            yield kind


def _first_paragraph(kind: type) -> str:
    return inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0].replace("\n", " ")


def _cloud_classes() -> str:
    codes = _codes_by_class()
    rows = (
        (f"`{cloud_errors.CloudClass[name]}`", ", ".join(f"`{code}`" for code in codes.get(name, ())), text)
        for name, text in comments(cloud_errors.CloudClass).items()
    )
    return _table(("class", "codes of the API", "what is done"), rows)


def _codes_by_class() -> dict[str, tuple[str, ...]]:
    """Class member -> the API's codes, read from the one table that `core.cloud_errors` decides by."""
    for node in ast.parse(inspect.getsource(cloud_errors)).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
            keys = [key.attr for key in node.value.keys if isinstance(key, ast.Attribute)]
            return dict(zip(keys, map(ast.literal_eval, node.value.values), strict=True))
    raise ValueError("core.cloud_errors has no table of codes any more")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _page(title: str, *parts: str) -> str:
    note = "<!-- Written by docs/generate.py from the code. Change the code, then run `make docs`. -->"
    return "\n\n".join([note, f"# {title}", *parts]) + "\n"


_CONDITIONS = """\
A pool's conditions say how it stands now. Each is worked out again on every pass, so none outlives its cause, and
`since` moves only when its status changes. `lbr cp pool describe CLUSTER POOL` shows them; while they are true, the
search attribute `LbrConditions` holds their names, so that one search of Temporal finds every pool that, say, is
waiting for quota. What to do about each is in [troubleshooting](../operations.md#troubleshooting)."""

_AUTOSCALING = """\
What `lbr cp pool explain` answers for a pod that waits and for a node that stays, by the names that Cluster Autoscaler
and the scheduler have for it where they have one. How decisions are made is in [autoscaling](../autoscaling.md)."""

_REASONS = {
    "What is done about a pod that waits": reasons.PodReason,
    "Why a node stays, or goes": reasons.NodeReason,
    "Why a pod keeps its node": reasons.BlockingReason,
    "Why a pod does not fit a node": reasons.FitReason,
    "Why a pool gets no servers": reasons.PoolReason,
}

_PHASES = """\
## Phases of a machine

A machine that is still in a phase at its deadline is given up: what it left is removed and another one is made."""

_EVENTS = f"""\
The log of a pool: `lbr cp pool events CLUSTER POOL`. It keeps the newest {events.EVENTS_KEPT} lines; repeats of the
same reason, object and message are one line with a count."""

_ERRORS = """\
Every refusal has a code, a sentence and, where there is one, a next step; under `-o json` it is printed as
`{"code": ..., "message": ..., "hint": ...}` on standard error. The same code is the type of the Temporal failure."""

_CLOUD = """\
## What the cloud answers

Hetzner's codes are sorted by what is to be done about them. A code that nobody knows is an unknown outcome, which
leads to a look-up, never to a second create."""


def main() -> None:
    """Write every page."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in documents().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
