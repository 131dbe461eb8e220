"""Names and ids: what may be called what, and how ids are made from names.

Kubernetes object names follow RFC 1123; a machine's name is both a Hetzner server name and a
Kubernetes node name, so a pool's name must leave room for its cluster's name and a suffix.
"""

from __future__ import annotations

import hashlib
import re

from core.errors import FieldRefused

NAME_MAX = 63  # RFC 1123 label, the limit of a node's kubernetes.io/hostname label value
SUFFIX_LENGTH = 5
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels and no look-alikes, as Kubernetes' own suffixes
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")


def check_name(field: str, name: str, *, longest: int = NAME_MAX) -> None:
    """Refuse `name` unless it is an RFC 1123 label of at most `longest` characters.

    Raises FieldRefused.
    """
    if not name:
        raise FieldRefused(field, "must not be empty", hint="give it a name such as 'workers'")
    if not _LABEL.match(name):
        raise FieldRefused(
            field,
            f"{name!r} is not a valid name: lower-case letters, digits and '-', "
            "starting and ending with a letter or digit (RFC 1123)",
            hint=f"try {suggest_name(name)!r}",
        )
    if len(name) > longest:
        raise FieldRefused(
            field,
            f"{name!r} has {len(name)} characters, at most {longest} are possible",
            hint="choose a shorter name",
        )


def check_pool_name(cluster: str, pool: str) -> None:
    """Refuse a pool name whose servers' names would pass 63 characters. Raises FieldRefused."""
    check_name("pool", pool)
    room = NAME_MAX - SUFFIX_LENGTH - 2 - len(cluster)
    if len(pool) > room:
        raise FieldRefused(
            "pool",
            f"{pool!r} is too long: servers are named '{cluster}-{pool}-xxxxx' and that may have "
            f"{NAME_MAX} characters (RFC 1123), which leaves {max(room, 0)} for the pool's name",
            hint="choose a shorter pool name",
        )


def suggest_name(name: str) -> str:
    """A valid name that resembles `name`, for the hint of a refusal."""
    cleaned = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return cleaned[:NAME_MAX].strip("-") or "workers"


def machine_name(cluster: str, pool: str, pool_id: str, serial: int) -> str:
    """The name of a pool's `serial`-th machine: fixed before the server is created, never used twice.

    The suffix is drawn from the pool's id, so a pool made anew under an old name does not repeat names.
    """
    value = int.from_bytes(hashlib.sha256(pool_id.encode()).digest()[:8], "big")
    # Serials are spread over the suffix space by an odd step coprime to its size: no two coincide.
    space = len(_ALPHABET) ** SUFFIX_LENGTH
    value = (value + serial * 7_654_321) % space
    digits = []
    for _ in range(SUFFIX_LENGTH):
        value, digit = divmod(value, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return f"{cluster}-{pool}-{''.join(digits)}"


def organization_workflow_id(organization: str) -> str:
    """The id of an organization's workflow."""
    return f"org/{organization}"


def cluster_workflow_id(organization: str, cluster: str) -> str:
    """The id of a cluster's workflow."""
    return f"cluster/{organization}/{cluster}"


def pool_workflow_id(organization: str, cluster: str, pool: str) -> str:
    """The id of a pool's workflow."""
    return f"pool/{organization}/{cluster}/{pool}"


def operation_workflow_id(pool_workflow: str, operation: str, machine: str) -> str:
    """The id of a child workflow that does one `operation` on one `machine`."""
    return f"{pool_workflow}/{operation}/{machine}"
