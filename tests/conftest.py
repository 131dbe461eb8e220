"""Fixtures of every suite that runs on a cluster: on the simulated one, and on a real control plane."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from sandbox.controlplane import ControlPlane
from sandbox.layout import ClusterKind, Layout
from sandbox.processes import Processes
from tests.cluster_world import PLANE_TIMING, World, real_world, running_world
from tests.kinds import BOTH, programs_or_skip


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real control plane, one for all tests of a process."""
    programs = programs_or_skip()
    layout = Layout(tmp_path_factory.mktemp("plane"))
    layout.make()
    plane = ControlPlane(layout, Processes(layout), programs, PLANE_TIMING)
    try:
        plane.up()
        yield plane
    finally:
        plane.down()


@pytest.fixture(params=BOTH)
def cluster_kind(request: pytest.FixtureRequest) -> ClusterKind:
    """Each kind of cluster in turn."""
    kind: ClusterKind = request.param
    return kind


@pytest_asyncio.fixture
async def world(cluster_kind: ClusterKind, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """An empty cluster of either kind."""
    if cluster_kind is ClusterKind.SIMULATED:
        async with running_world(tmp_path) as simulated:
            yield simulated
        return
    async with real_world(tmp_path, request.getfixturevalue("control_plane")) as real:
        yield real


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out on the real cluster what reaches into the simulated one."""
    out = [each for each in items if each.get_closest_marker("real") and each.get_closest_marker("simulator")]
    config.hook.pytest_deselected(items=out)
    items[:] = [each for each in items if each not in out]


class _Verdict:
    """Fails a run in which pytest itself broke: of an error in one of its processes xdist only tells."""

    broken = False

    def pytest_internalerror(self) -> None:
        self.broken = True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.broken and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR


def pytest_configure(config: pytest.Config) -> None:
    """Register what needs to remember something."""
    config.pluginmanager.register(_Verdict())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many checks were passed in each world, where a real one was among them."""
    passed = [each.nodeid for each in terminalreporter.stats.get("passed", []) if each.when == "call"]
    counts = Counter(world for nodeid in passed if (world := _world_of(nodeid)))
    if counts["the real control plane"]:
        terminalreporter.write_line("checks: " + ", ".join(f"{counts[world]} on {world}" for world in sorted(counts)))


def _world_of(nodeid: str) -> str:
    if "/hetzner/" in nodeid:
        return "the simulated Hetzner Cloud"
    words = nodeid.partition("[")[2].rstrip("]").split("-")
    if ClusterKind.REAL in words:
        return "the real control plane"
    return "the simulated cluster" if ClusterKind.SIMULATED in words else ""
