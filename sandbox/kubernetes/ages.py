"""Durations as the API server prints them in tables: `45s`, `3m10s`, `5h`, `12d`."""

from datetime import datetime

from sandbox.kubernetes.objects import parse_time

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def age(stamp: str | None, now: datetime) -> str:
    """How long ago a time was; `<unknown>` without one."""
    if not stamp:
        return "<unknown>"
    return human(max(0, int((now - parse_time(stamp)).total_seconds())))


def human(seconds: int) -> str:
    """A duration with one unit, or two while the second one still matters."""
    if seconds < 2 * _MINUTE:
        return f"{seconds}s"
    if seconds < 10 * _MINUTE:
        return _two(seconds, _MINUTE, "m", 1, "s")
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return _two(seconds, _HOUR, "h", _MINUTE, "m")
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    return _two(seconds, _DAY, "d", _HOUR, "h") if seconds < 8 * _DAY else f"{seconds // _DAY}d"


def _two(seconds: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large}{large_unit}" + (f"{rest}{small_unit}" if rest else "")
