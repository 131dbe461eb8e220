"""Kubernetes quantities as whole numbers, so that sums are exact and the order of adding does not matter.

Source: the Quantity type of the Kubernetes API: a decimal number with an SI, binary or exponent suffix.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache

CPU = "cpu"  # in thousandths of a core
MEMORY = "memory"  # in bytes
EPHEMERAL = "ephemeral-storage"  # in bytes
PODS = "pods"

_FORM = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d{1,2})|([KMGTPE]i|[numkMGTPE]?))\Z")
_SUFFIXES = {
    **{"n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "": Decimal(1), "k": Decimal(1000)},
    **{letter: Decimal(1000) ** power for power, letter in enumerate("MGTPE", 2)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", 1)},
}


@lru_cache(maxsize=4096)
def whole(text: str, thousandths: bool = False) -> int | None:
    """A quantity in units, or in thousandths, rounded up as the API server rounds. None when it is none."""
    match = _FORM.match(text.strip())
    if not match:
        return None
    digits, exponent, suffix = match.groups()
    number = Decimal(digits + exponent) if exponent else Decimal(digits) * _SUFFIXES[suffix]
    return int((number * 1000 if thousandths else number).to_integral_value(ROUND_CEILING))


def amounts(raw: object) -> tuple[dict[str, int], list[str]]:
    """A resource list as whole numbers by resource, and the names of those whose amount cannot be read."""
    read: dict[str, int] = {}
    odd: list[str] = []
    for name, text in (raw if isinstance(raw, Mapping) else {}).items():
        number = whole(str(text), thousandths=name == CPU)
        if number is None or number < 0:
            odd.append(str(name))
        else:
            read[str(name)] = number
    return read, odd


def shown(name: str, amount: int) -> str:
    """An amount of a resource as a person reads it."""
    if name == CPU:
        return f"{amount / 1000:g}"
    if name in (MEMORY, EPHEMERAL):
        return f"{amount / 2**30:.2f} GiB" if abs(amount) >= 2**30 else f"{amount / 2**20:.0f} MiB"
    return str(amount)
