"""Fixtures of every suite that runs on a cluster: on the simulated one, and on a real control plane."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from core.errors import PoolsError
from sandbox.controlplane import ControlPlane, find
from sandbox.layout import ClusterKind, Layout
from sandbox.processes import Processes
from tests.cluster_world import PLANE_TIMING

BOTH = [ClusterKind.SIMULATED, pytest.param(ClusterKind.REAL, marks=pytest.mark.real)]


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real control plane, one for all tests of a process."""
    try:
        programs = find()
    except PoolsError as error:
        pytest.skip(f"{error.message}; {error.hint}")
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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many checks were passed on each kind of cluster, where any was."""
    passed = Counter(
        kind
        for report in terminalreporter.stats.get("passed", [])
        for kind in ClusterKind
        if report.when == "call" and f"[{kind}" in report.nodeid.replace("-", "[")
    )
    if passed[ClusterKind.REAL]:
        counts = ", ".join(f"{passed[kind]} on the {kind} one" for kind in ClusterKind)
        terminalreporter.write_line(f"checks on a cluster: {counts}")
