"""A Kubernetes version as `/version` gives it, upstream or from a distribution."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FORM = re.compile(r"v(\d+)\.(\d+)\.(\d+)(.*)\Z")


@dataclass(frozen=True)
class Version:
    """`v1.34.1+k3s1` as (1, 34, 1, '+k3s1')."""

    major: int
    minor: int
    patch: int
    suffix: str = ""

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read a gitVersion. Raises ValueError for anything else."""
        match = _FORM.match(text)
        if match is None:
            raise ValueError(f"{text!r} is not a Kubernetes version such as v1.34.1")
        major, minor, patch, suffix = match.groups()
        return cls(int(major), int(minor), int(patch), suffix)

    @property
    def distribution(self) -> str:
        """`k3s`, `rke2`, or '' for an upstream build."""
        return next((name for name in ("k3s", "rke2") if f"+{name}" in self.suffix), "")

    @property
    def release(self) -> str:
        """`1.34.1`, as packages are named."""
        return f"{self.major}.{self.minor}.{self.patch}"

    def __str__(self) -> str:
        return f"v{self.release}{self.suffix}"
