"""What the tests ask of a machine's server."""

from __future__ import annotations

from typing import Any

from activities.keys import KeyActivities
from activities.servers import ServerActivities
from core import calls, machine_calls
from tests.integration.activities_hetzner.cloud_stage import OWNER, PROJECT, CloudStage

POOL_OWNER = OWNER.model_copy(update={"operation_id": ""})


def of(stage: CloudStage) -> ServerActivities:
    return ServerActivities(stage.cloud, stage.vault, stage.user_data_for, poll_s=0.05)


async def key(stage: CloudStage) -> int:
    keys = KeyActivities(stage.cloud, stage.vault)
    call = calls.EnsureKey(project=PROJECT, owner=POOL_OWNER, name="prod-workers-key")
    return (await stage.run(keys.ensure_key, call)).key_id


async def create_call(stage: CloudStage, **changes: Any) -> machine_calls.CreateServer:
    fields: dict[str, Any] = {
        "project": PROJECT,
        "cluster": calls.ClusterRef(organization="acme", cluster="prod"),
        "owner": OWNER,
        "pool": "workers",
        "machine": "prod-workers-a",
        "location": "hel1",
        "server_type": "cx23",
        "labels": {},
        "taints": [],
    }
    if "ssh_key_id" not in changes:
        fields["ssh_key_id"] = await key(stage)
    return machine_calls.CreateServer(**(fields | changes))


def delete_call(server_id: int | None, **changes: Any) -> machine_calls.DeleteServer:
    fields: dict[str, Any] = {"project": PROJECT, "owner": OWNER, "machine": "prod-workers-a", "server_id": server_id}
    return machine_calls.DeleteServer(**(fields | changes))


def await_call(made: machine_calls.ServerSeen) -> machine_calls.AwaitServer:
    return machine_calls.AwaitServer(project=PROJECT, server_id=made.server_id, action_ids=made.action_ids)
