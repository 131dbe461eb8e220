"""The audit finds what is left of a pool in the cluster and in the cloud, and takes silence for no proof."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hcloud import Client
from hcloud.images import Image
from hcloud.locations import Location
from hcloud.server_types import ServerType
from temporalio.exceptions import ApplicationError

from activities.audit import AuditActivities
from activities.hetzner_client import Cloud
from core import calls
from core.calls import Owner, ProjectRef
from core.ownership import server_labels
from sandbox.clock import ManualClock
from sandbox.hetzner import LiveCloud, default_cloud, live
from sandbox.kubernetes.faults import ApiFault
from tests.integration.activities_kubernetes.kube_stage import CLUSTER, Stage

OWNER = Owner(organization="acme", cluster_id="cluster-uid", pool_id="pool-id")
OURS, OTHERS = {"pools.lbr.dev/pool-id": "pool-id"}, {"pools.lbr.dev/pool-id": "another"}


@pytest.fixture
def cloud() -> Iterator[LiveCloud]:
    """A simulated Hetzner Cloud whose clock stands still."""
    with live(default_cloud(ManualClock(datetime(2026, 12, 1, tzinfo=UTC)))) as running:
        yield running


async def audit(stage: Stage, cloud: LiveCloud, *server_ids: int) -> calls.Leftovers:
    stage.vault.cloud_token = cloud.cloud.token("demo", "admin").value
    client = Cloud(f"{cloud.url}/v1")
    call = calls.AuditPool(
        project=ProjectRef(organization="acme", credential="hetzner"),
        cluster=CLUSTER,
        owner=OWNER,
        server_ids=list(server_ids),
    )
    try:
        return await stage.run(AuditActivities(stage.apis, client, stage.trusted).audit_pool, call)
    finally:
        client.close()


async def test_nothing_left_is_told_as_nothing(stage: Stage, cloud: LiveCloud) -> None:
    assert (await audit(stage, cloud, 42)).empty


async def test_what_is_the_pool_s_is_found_on_both_sides_and_nothing_else(stage: Stage, cloud: LiveCloud) -> None:
    core = stage.world.core
    for name, labels in (("ours", OURS), ("theirs", OTHERS)):
        await core.create_node({"metadata": {"name": name, "labels": labels}})
        secret = {"metadata": {"name": f"bootstrap-token-{name}", "labels": labels}}
        await core.create_namespaced_secret("kube-system", secret)
    token = cloud.cloud.token("demo", "admin").value
    hcloud = Client(token, api_endpoint=f"{cloud.url}/v1", poll_interval=0)
    server = hcloud.servers.create(
        name="prod-workers-bcdfg",
        server_type=ServerType(name="cx23"),
        image=Image(name="ubuntu-24.04"),
        location=Location(name="nbg1"),
        labels=server_labels(OWNER, "workers", "prod-workers-bcdfg"),
    ).server
    left = await audit(stage, cloud, server.id)
    assert (left.nodes, left.bootstrap_secrets) == (["ours"], ["bootstrap-token-ours"])
    assert left.servers == [server.id]
    assert len(left.primary_ips) == 2
    assert not left.empty


@pytest.mark.simulator
async def test_a_cluster_that_does_not_answer_proves_nothing(stage: Stage, cloud: LiveCloud) -> None:
    stage.world.cluster.faults.add(ApiFault("GET", "/api/v1/nodes", 503))
    with pytest.raises(ApplicationError) as caught:
        await audit(stage, cloud)
    assert not caught.value.non_retryable
