"""The kinds of cluster that tests run on."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import PoolsError
from sandbox.controlplane import find
from sandbox.layout import ClusterKind

BOTH = [ClusterKind.SIMULATED, pytest.param(ClusterKind.REAL, marks=pytest.mark.real)]


def programs_or_skip() -> dict[str, Path]:
    """The programs of a real control plane; without them the test is skipped, saying what to do."""
    try:
        return find()
    except PoolsError as error:
        pytest.skip(f"{error.message}; {error.hint}")
