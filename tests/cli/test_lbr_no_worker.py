"""A Temporal server behind which nobody works: every command says so, and what needs no worker works."""

from __future__ import annotations

import json

import pytest
from lbr_runner import Lbr

TOKEN = "a1B2" * 16


def test_the_missing_worker_is_named(idle_lbr: Lbr) -> None:
    """The organization is started, and nobody takes its first step."""
    result = idle_lbr("org", "create", "idle")
    assert result.code == 1
    assert "no worker runs on task queue 'managed-node-pools'" in result.stderr
    assert "lbr worker" in result.stderr
    assert idle_lbr("cp", "list", "--org", "idle").code == 1


@pytest.mark.parametrize(
    "line",
    [
        "cp list",
        "cp pool list prod",
        "cp pool delete prod workers",
        "usage",
        "org show",
        "org enable",
        f"cloud-credential create x --token {TOKEN}",
    ],
)
def test_an_organization_that_does_not_exist_is_not_found(idle_lbr: Lbr, line: str) -> None:
    """Exit code 3, and how to make it."""
    result = idle_lbr(*line.split(), "--org", "nobody", "-o", "json")
    assert result.code == 3
    error = json.loads(result.stderr[result.stderr.index("{") :])
    assert error == {
        "code": "NotFound",
        "message": "there is no organization 'nobody'",
        "hint": "create it: lbr org create nobody",
    }


def test_doctor_finds_the_missing_worker(idle_lbr: Lbr) -> None:
    """And that the server, its namespace and its search attributes are right."""
    result = idle_lbr("doctor", "-o", "json")
    assert result.code == 1
    findings = {finding["check"]: finding for finding in json.loads(result.stdout)}
    assert {findings[check]["status"] for check in ("temporal", "namespace", "search attributes")} == {"ok"}
    assert findings["workers"]["status"] == "fail"
    assert "lbr worker" in findings["workers"]["hint"]
    assert findings["organization acme"]["status"] == "fail"


def test_doctor_finds_the_missing_namespace(idle_lbr: Lbr, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing else of the server is asked."""
    monkeypatch.setenv("TEMPORAL_NAMESPACE", "elsewhere")
    result = idle_lbr("doctor", "-o", "json", "--org", "")
    checks = {finding["check"]: finding["status"] for finding in json.loads(result.stdout)}
    assert result.code == 1
    assert checks["namespace"] == "fail"
    assert "workers" not in checks


@pytest.mark.parametrize("line", ["cp list", "usage", "org enable"])
def test_a_missing_namespace_is_not_taken_for_a_missing_organization(
    idle_lbr: Lbr, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """Temporal gives both the same status."""
    monkeypatch.setenv("TEMPORAL_NAMESPACE", "elsewhere")
    result = idle_lbr(*line.split())
    assert result.code == 1
    assert "Namespace elsewhere is not found" in result.stderr
