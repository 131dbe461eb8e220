"""Counts as a person reads them."""

from __future__ import annotations


def counted(count: int, what: str) -> str:
    """`1 server`, `2 servers`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
