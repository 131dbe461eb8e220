"""Answers, whole: what the real API server said is kept in answers.json, and both clusters have to say it.

Recorded anew with LBR_ANSWERS=write on the real one.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from sandbox.layout import ClusterKind
from tests.cluster_world import World
from tests.conformance.kubernetes.cases import CASES, Step

KEPT = Path(__file__).with_name("answers.json")
WRITE = os.environ.get("LBR_ANSWERS") == "write"
_MASKED = {
    re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"): "UID",
    re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"): "TIME",
    re.compile(r"in record \(\d+\)"): "in record (VERSION)",
    re.compile(r"kube-api-access-[a-z0-9]{5}"): "kube-api-access-XXXXX",
    re.compile(r"\n@@ .*", re.DOTALL): "",  # the difference that a refused pod update is shown with
}


def plain(value: Any) -> Any:
    """An answer without what differs each time, without what controllers add to a node at a moment of their choosing,
    and without field ownership, which is not simulated."""
    if isinstance(value, dict):
        kept = {key: plain(each) for key, each in value.items() if key not in ("managedFields", "annotations")}
        kept = {key: each for key, each in kept.items() if (key, each) != ("taints", [])}
        return kept | ({"resourceVersion": "VERSION"} if kept.get("resourceVersion") else {})
    if isinstance(value, list):
        return [plain(each) for each in value if not _is_condition_taint(each)]
    if not isinstance(value, str):
        return value
    for pattern, word in _MASKED.items():
        value = pattern.sub(word, value)
    return value


def _is_condition_taint(value: Any) -> bool:
    return isinstance(value, dict) and "effect" in value and value.get("key", "").startswith("node.kubernetes.io/")


async def answers(world: World, steps: list[Step]) -> list[dict[str, Any]]:
    """The answers to the requests of one case."""
    found: list[dict[str, Any]] = []
    headers = {"Authorization": f"Bearer {world.token}", "Accept": "application/json"}
    async with aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(ssl=False)) as session:
        for method, path, body, content_type in steps:
            data = body if body is None or isinstance(body, str) else json.dumps(body)
            sent = {"Content-Type": content_type}
            async with session.request(method, world.url + path, data=data, headers=sent) as answer:
                text = await answer.text()
                is_json = answer.content_type == "application/json"
                found.append({"status": answer.status, "body": plain(json.loads(text) if is_json else text)})
    return found


@pytest.mark.parametrize("case", CASES)
async def test_an_answer(world: World, cluster_kind: ClusterKind, case: str) -> None:
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    found = await answers(world, CASES[case])
    if WRITE and cluster_kind is ClusterKind.REAL:
        kept[case] = found
        KEPT.write_text(json.dumps({name: kept[name] for name in CASES if name in kept}, indent=1) + "\n")
    assert found == kept[case]
