"""Today's workflow code replays every recorded history: what runs in production survives a deploy."""

from __future__ import annotations

from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from worker.assembly import WORKFLOWS
from worker.runner import workflow_runner

HISTORIES = sorted((Path(__file__).parents[1] / "histories").glob("*.json"))


def test_histories_cover_every_workflow() -> None:
    recorded = {path.stem.split("-")[2] for path in HISTORIES}
    assert recorded == {getattr(workflow, "__temporal_workflow_definition").name for workflow in WORKFLOWS}


def read(path: Path) -> WorkflowHistory:
    return WorkflowHistory.from_json(path.stem, path.read_text())


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
async def test_replays(path: Path) -> None:
    replayer = Replayer(workflows=WORKFLOWS, data_converter=pydantic_data_converter, workflow_runner=workflow_runner())
    await replayer.replay_workflow(read(path))
