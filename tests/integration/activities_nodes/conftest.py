"""The fixture of the activities on nodes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.activities_kubernetes.kube_stage import Stage, staged


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """A fresh cluster and the clients of one worker."""
    async with staged(tmp_path) as stage:
        yield stage
