"""The official OpenAPI document, and a live cloud whose every reply is kept beside its route."""

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sandbox.clock import ManualClock
from sandbox.hetzner import LiveCloud, default_cloud, live

BESIDE_THE_REPOSITORY = Path(__file__).parents[4] / "shared" / "facts" / "hetzner-cloud.openapi.json"


@pytest.fixture(scope="session")
def document_path() -> Path:
    path = Path(os.environ.get("HETZNER_OPENAPI", BESIDE_THE_REPOSITORY))
    if not path.is_file():
        pytest.skip(f"no OpenAPI document of Hetzner Cloud at {path}: name one in HETZNER_OPENAPI")
    return path


@pytest.fixture(scope="session")
def document(document_path: Path) -> dict[str, Any]:
    loaded = json.loads(document_path.read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


@pytest.fixture
def world() -> Iterator[LiveCloud]:
    clock = ManualClock(datetime(2026, 12, 1, 8, 0, tzinfo=UTC))
    with live(default_cloud(clock)) as running:
        yield running
