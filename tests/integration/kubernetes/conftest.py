"""Fixtures of the simulated cluster's tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.cluster_world import World, running_world


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A fresh cluster."""
    async with running_world(tmp_path) as world:
        yield world
