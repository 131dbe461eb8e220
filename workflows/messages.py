"""What may be said to the workflows: names of updates, signals and queries, and the types they carry.

Clients import this module and nothing else of `workflows`. Each message is one model, so that fields can be
added with defaults without breaking a caller.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from core.calls import Health, JoinMethod
from core.cloud_errors import CloudFailure
from core.events import Reason
from core.machine import Phase
from core.sealing import SealedSecret
from core.spec import PoolSpec
from core.usage import UsageLine

TASK_QUEUE = "managed-node-pools"

ORGANIZATION_WORKFLOW = "OrganizationWorkflow"
CLUSTER_WORKFLOW = "ClusterWorkflow"
POOL_WORKFLOW = "PoolWorkflow"
PROVISION_WORKFLOW = "ProvisionMachine"
RETIRE_WORKFLOW = "RetireMachine"

MEMO_ROW = "row"  # memo key: the row that lists show (PoolRow, ClusterRow, OrganizationView)


class OrganizationStart(BaseModel):
    """Starts an organization's workflow."""

    organization: str
    enabled: bool = True
    carried: dict[str, Any] | None = None  # the workflow's own state, when it continues as new
    history_limit: int | None = None  # for tests: continue as new after so many events, pools and clusters too


class SetSurface(BaseModel):
    """Update `set_surface`: turn managed node pools on or off. Answers OrganizationView."""

    enabled: bool


class StoreCredential(BaseModel):
    """Updates `create_credential` and `rotate_credential`. Answers CredentialRow."""

    name: str
    sealed: SealedSecret


class Done(BaseModel):
    """An update's answer where there is nothing to tell but that it is done."""

    message: str = ""


class RegisterCluster(BaseModel):
    """Update `register_cluster`. Answers ClusterRow. `api_endpoint` overrides the kubeconfig's server for nodes."""

    name: str
    sealed: SealedSecret
    join: JoinMethod
    api_endpoint: str | None = None
    cni_manifest: str | None = None


class CreateOutcome(StrEnum):
    """What `create_pool` did."""

    CREATED = "created"
    UNCHANGED = "unchanged"


class CreateResult(BaseModel):
    """Answer of update `create_pool` (which takes a PoolSpec)."""

    outcome: CreateOutcome
    workflow_id: str
    spec: PoolSpec


class ScaleRequest(BaseModel):
    """Update and signal `scale`: a size inside the bounds, once."""

    model_config = ConfigDict(extra="forbid")

    size: int
    reason: str = ""


class PauseRequest(BaseModel):
    """Update and signal `pause`: freeze the pool, or end the freeze."""

    model_config = ConfigDict(extra="forbid")

    paused: bool = True


class PreviewRequest(BaseModel):
    """Update `preview`: how many servers and pods a lower ceiling, or a delete, would remove. Changes nothing."""

    max: int | None = None
    delete: bool = False


class Impact(BaseModel):
    """Answer of `preview`; `pods` is None where the cluster did not answer."""

    servers: int
    pods: int | None


class ChangeResult(BaseModel):
    """Answer of updates `update` (which takes a PoolPatch), `scale`, `pause` and `delete`."""

    changed: list[str]
    removing: int = 0
    message: str = ""


class MachineReport(BaseModel):
    """Signal `machine_report` from a child: where its machine stands. `done` ends the operation."""

    machine: str
    operation: str
    reason: Reason
    message: str = ""
    phase: Phase | None = None
    server_id: int | None = None
    node_uid: str | None = None
    ssh_key_id: int | None = None
    ipv4: str = ""
    version: str = ""
    seen_at: datetime | None = None
    done: bool = False
    failure: CloudFailure | None = None


class CredentialNews(BaseModel):
    """Signal `credential_news` from the organization to its pools; `refused` signal from a pool to it."""

    name: str
    health: Health
    reason: str = ""
    message: str = ""


class PoolGone(BaseModel):
    """Signal `pool_gone` to the organization: the pool's last words."""

    cluster: str
    pool: str
    line: UsageLine


class UsageView(BaseModel):
    """Query `usage` of an organization: the ledger, ended pools included. Lines are as last reported."""

    lines: list[UsageLine]


class ClusterPools(BaseModel):
    """Signal `pools` from the organization to a cluster: the names of its pools."""

    names: list[str]
