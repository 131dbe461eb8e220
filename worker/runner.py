"""How workflow code runs: in the SDK's sandbox, with the pure domain passed through instead of imported anew."""

from __future__ import annotations

from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

# `core` takes the time as an argument and touches nothing, so it cannot break determinism; `cryptography`
# comes with the sealed secrets' module and is never called by a workflow.
_PASSED_THROUGH = ("core", "cryptography", "annotated_types")


def workflow_runner() -> SandboxedWorkflowRunner:
    """The runner for workers and for replays."""
    return SandboxedWorkflowRunner(restrictions=SandboxRestrictions.default.with_passthrough_modules(*_PASSED_THROUGH))
