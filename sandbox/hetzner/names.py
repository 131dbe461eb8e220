"""The rules for names and user-data that several resources share."""

import re
from collections.abc import Iterable

from sandbox.hetzner.errors import invalid_input, name_taken
from sandbox.hetzner.records import Resource

_HOSTNAME_PART = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
USER_DATA_BYTES = 32 * 1024


def check_hostname(name: str) -> None:
    """Raises `ApiError` invalid_input for what is not an RFC 1123 host name of at most 253 characters."""
    parts = name.split(".")
    if len(name) > 253 or not all(_HOSTNAME_PART.fullmatch(part) for part in parts):
        raise invalid_input("name", "must be a valid hostname")


def check_name(name: str) -> None:
    """Raises `ApiError` invalid_input for an empty or overlong name of anything but a server."""
    if not name.strip() or len(name) > 128:
        raise invalid_input("name", "must be between 1 and 128 characters")


def check_user_data(user_data: str) -> None:
    """Raises `ApiError` invalid_input above 32 KiB, measured on the text as it was sent."""
    if len(user_data.encode()) > USER_DATA_BYTES:
        raise invalid_input("user_data", "must be at most 32768 bytes")


def check_unique(kind: str, name: str, others: Iterable[Resource], own_id: int | None = None) -> None:
    """Raises `ApiError` uniqueness_error when another resource of the kind already has the name."""
    if any(other.name == name and other.id != own_id for other in others):
        raise name_taken(kind)
