"""Durations as options take them: `90s`, `10m`, `1h30m`."""

from __future__ import annotations

from datetime import timedelta

_UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1), "s": timedelta(seconds=1)}


def spelled(duration: timedelta) -> str:
    """`duration` to the second, in days, hours, minutes and seconds without those that are none: `1h30m`, `0s`."""
    rest, words = abs(duration), ""
    for unit, length in _UNITS.items():
        count, rest = divmod(rest, length)
        words += f"{count}{unit}" if count else ""
    return ("-" if duration < timedelta(0) else "") + (words or "0s")
