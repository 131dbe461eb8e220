"""Times as people write them: ages in tables, durations in options."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click

_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?\Z")


def age(moment: datetime | None, now: datetime | None = None) -> str:
    """How long ago `moment` was, in its one or two largest units: `42s`, `5m10s`, `3h`, `12d`; `-` for never."""
    if moment is None:
        return "-"
    seconds = max(0, int(((now or datetime.now(UTC)) - moment).total_seconds()))
    if seconds < 120:
        return f"{seconds}s"
    if seconds < 600:
        minutes, rest = divmod(seconds, 60)
        return f"{minutes}m{rest}s" if rest else f"{minutes}m"
    if seconds < 2 * 3600:
        return f"{seconds // 60}m"
    if seconds < 48 * 3600:
        return f"{seconds // 3600}h"
    return f"{seconds // 86400}d"


def stamp(moment: datetime) -> str:
    """`moment` as RFC 3339 in UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Duration(click.ParamType[timedelta]):
    """`90s`, `10m`, `1h30m`, or a bare number of seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """The duration that `value` says; a usage error otherwise."""
        if isinstance(value, timedelta):
            return value
        match = _DURATION.match(str(value))
        if not match or not str(value):
            self.fail(f"{value!r} is not a duration such as 90s, 10m or 1h30m", param, ctx)
        parts = [int(part or 0) for part in match.groups()]
        try:
            return timedelta(seconds=sum(n * unit for n, unit in zip(parts, _UNITS.values(), strict=True)))
        except OverflowError:
            self.fail(f"{value!r} is longer than any duration", param, ctx)


DURATION = Duration()
