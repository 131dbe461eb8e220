"""The fixture of the Kubernetes-side activities: a cluster of either kind and the clients of one worker."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.cluster_world import World
from tests.integration.activities_kubernetes.kube_stage import Stage, staged


@pytest.fixture
async def stage(world: World) -> AsyncIterator[Stage]:
    """An empty cluster and the clients of one worker."""
    async with staged(world) as stage:
        yield stage
