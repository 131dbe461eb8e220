"""Resource quantities: `500m`, `2Gi`, `1e3`. Everything is counted in thousandths, cpu and bytes alike."""

import re
from functools import lru_cache

_QUANTITY = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([numkMGTPE]|[KMGTPE]i)?")
_SCALES = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_SCALES |= {f"{letter}i": 2.0 ** (10 * power) for power, letter in enumerate("KMGTPE", 1)}


@lru_cache(4096)
def milli(quantity: str | int | float) -> int:
    """A quantity in thousandths. Raises ValueError when it is none."""
    found = _QUANTITY.fullmatch(str(quantity))
    if not found:
        raise ValueError(f"{quantity!r} is not a quantity")
    return round(float(found[1]) * _SCALES[found[2] or ""] * 1000)
