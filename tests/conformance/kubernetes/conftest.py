"""One suite for both clusters: what it finds on the real one is what the simulated one has to do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from sandbox.layout import ClusterKind
from tests.cluster_world import World, real_world, running_world


@pytest_asyncio.fixture
async def world(cluster_kind: ClusterKind, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """An empty cluster of either kind."""
    if cluster_kind is ClusterKind.SIMULATED:
        async with running_world(tmp_path) as simulated:
            yield simulated
        return
    async with real_world(tmp_path, request.getfixturevalue("control_plane")) as real:
        yield real
