"""Runs `lbr` in this process, and a bare Temporal server behind it where a test needs one."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lbr_runner import Lbr, write_profile
from sandbox_stack import Stack, start, stop
from temporalio.testing import WorkflowEnvironment

from core.sealing import PlatformKey
from workflows.search_attributes import ALL

NOWHERE = "127.0.0.1:9"  # the discard port: nothing answers there


@pytest.fixture(scope="session")
def platform_key() -> PlatformKey:
    """The key that secrets are sealed to."""
    return PlatformKey.generate()


@pytest.fixture
def lbr(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, platform_key: PlatformKey
) -> Lbr:
    """`lbr`, pointed to a server that does not exist: whatever is refused here is refused before the network."""
    for variable in [name for name in os.environ if name.startswith(("LBR_", "TEMPORAL_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("LBR_CONFIG", str(write_profile(tmp_path / "config.toml", platform_key, NOWHERE)))
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", str(tmp_path / "no-temporal.toml"))
    monkeypatch.setenv("COLUMNS", "80")
    return Lbr(capsys, monkeypatch)


@pytest.fixture(scope="session")
def temporal_address() -> Iterator[str]:
    """A Temporal server with our search attributes and no worker."""
    binary = Path(sys.executable).with_name("temporal")
    with asyncio.Runner() as runner:
        server = runner.run(
            WorkflowEnvironment.start_local(dev_server_existing_path=str(binary), search_attributes=ALL)
        )
        yield server.client.service_client.config.target_host
        runner.run(server.shutdown())


@pytest.fixture
def idle_lbr(lbr: Lbr, tmp_path: Path, platform_key: PlatformKey, temporal_address: str) -> Lbr:
    """`lbr`, pointed to a server behind which nobody works."""
    write_profile(tmp_path / "config.toml", platform_key, temporal_address)
    return lbr


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A whole sandbox, for the transcripts and the live tests."""
    built = start(tmp_path_factory.mktemp("sandbox"))
    yield built
    stop(built)
