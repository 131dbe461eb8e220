"""What a check found, and the next step."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel


class Status(StrEnum):
    """How a check came out. Only `fail` makes the exit code 1."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(BaseModel):
    """One check's outcome. `hint` is the next step."""

    status: Status
    check: str
    message: str
    hint: str = ""


def ok(check: str, message: str) -> Finding:
    """A check that found nothing wrong."""
    return Finding(status=Status.OK, check=check, message=message)


def warn(check: str, message: str, hint: str) -> Finding:
    """A check that found something to look at."""
    return Finding(status=Status.WARN, check=check, message=message, hint=hint)


def fail(check: str, message: str, hint: str) -> Finding:
    """A check that found something broken."""
    return Finding(status=Status.FAIL, check=check, message=message, hint=hint)
