"""The one-shot job that makes the namespace, run against a real Temporal server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from worker.attributes import register_search_attributes

SCRIPT = Path(__file__).parents[3] / "deploy/temporal/namespace.sh"
BINARIES = Path(sys.executable).parent


@pytest_asyncio.fixture
async def address() -> AsyncIterator[str]:
    """A server of its own: the job adds to it for good."""
    server = await WorkflowEnvironment.start_local(dev_server_existing_path=str(BINARIES / "temporal"))
    async with server:
        yield server.client.service_client.config.target_host


def job(address: str, namespace: str) -> subprocess.CompletedProcess[str]:
    """Run the job as the container does."""
    environment = {"TEMPORAL_ADDRESS": address, "TEMPORAL_NAMESPACE": namespace, "RETENTION": "30d"}
    path = f"{BINARIES}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", SCRIPT], env=environment | {"PATH": path}, capture_output=True, text=True, check=False, timeout=90
    )


async def test_a_worker_can_start_in_the_namespace_at_once(address: str) -> None:
    """The job waits until the server serves the namespace, which takes it some seconds."""
    assert job(address, "pools").returncode == 0
    client = await Client.connect(address, namespace="pools")
    assert "LbrPool" in await register_search_attributes(client)


async def test_the_job_may_run_again(address: str) -> None:
    """`docker compose up` runs it each time."""
    first, second = job(address, "pools"), job(address, "pools")
    assert (first.returncode, second.returncode) == (0, 0)
    assert "exists" not in first.stdout
    assert "namespace pools exists" in second.stdout


def test_a_failure_is_a_failure() -> None:
    """So that the worker does not start without its namespace. Nothing listens on port 1."""
    assert job("127.0.0.1:1", "pools").returncode != 0
