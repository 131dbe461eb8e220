"""A machine joins with a token of its own, which is made once, extended, and gone afterwards."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from kubernetes.aio import client
from temporalio.exceptions import ApplicationError

from activities.join import JoinActivities
from core import machine_calls
from core.autoscale.quantities import amounts
from core.calls import JoinMethod, Owner, ProjectRef, ServerType
from core.labels import Effect, Taint
from sandbox.hollow import ServerSeen
from tests.cluster_world import World, eventually
from tests.integration.activities_kubernetes.kube_stage import CLUSTER, Stage, staged

OPERATION = "0d5e2a54-provision"
OWNER = Owner(organization="acme", cluster_id="cluster-uid", pool_id="pool-id", operation_id=OPERATION)
CREATE = machine_calls.CreateServer(
    project=ProjectRef(organization="acme", credential="hetzner"),
    cluster=CLUSTER,
    owner=OWNER,
    pool="workers",
    machine="prod-workers-bcdfg",
    location="fsn1",
    server_type="cx23",
    ssh_key_id=1,
    labels={"workload": "batch"},
    taints=[Taint(key="dedicated", value="batch", effect=Effect.NO_SCHEDULE)],
    server=ServerType(name="cx23", cores=2, memory_gb=4, disk_gb=40),
)


async def issue(stage: Stage, ttl_s: float = 900, operation: str = OPERATION) -> machine_calls.TokenIssued:
    call = machine_calls.EnsureToken(
        cluster=CLUSTER, pool_id="pool-id", machine=CREATE.machine, operation_id=operation, ttl_s=ttl_s
    )
    return await stage.run(JoinActivities(stage.apis, stage.trusted).ensure_token, call)


async def revoke(stage: Stage) -> None:
    call = machine_calls.RevokeToken(cluster=CLUSTER, operation_id=OPERATION)
    await stage.run(JoinActivities(stage.apis, stage.trusted).revoke_token, call)


async def tokens(stage: Stage) -> dict[str, dict[str, str]]:
    """The bootstrap Secrets' decoded data, by name."""
    found = (await stage.world.core.list_namespaced_secret("kube-system")).items
    return {
        secret.metadata.name: {key: base64.b64decode(value).decode() for key, value in secret.data.items()}
        for secret in found
        if secret.type == "bootstrap.kubernetes.io/token"
    }


@pytest.mark.parametrize(
    ("method", "group"), [(JoinMethod.K3S, "k3s"), (JoinMethod.RKE2, "k3s"), (JoinMethod.KUBEADM, "kubeadm")]
)
async def test_a_token_is_one_that_the_cluster_and_its_distribution_accept(
    world: World, method: JoinMethod, group: str
) -> None:
    async with staged(world, method) as stage:
        issued = await issue(stage)
        ((name, data),) = (await tokens(stage)).items()
        assert name == f"bootstrap-token-{issued.token_id}"
        assert data["auth-extra-groups"] == f"system:bootstrappers:{group}:default-node-token"
        token = f"{data['token-id']}.{data['token-secret']}"
        settings = client.Configuration(host=stage.world.url, api_key={"authorization": f"Bearer {token}"})
        settings.ca_cert_data = stage.world.ca_pem
        async with client.ApiClient(settings) as bearer:
            review = await client.AuthenticationV1Api(bearer).create_self_subject_review({"metadata": {}})
        assert review.status.user_info.username == f"system:bootstrap:{issued.token_id}"
        assert data["auth-extra-groups"] in review.status.user_info.groups


async def test_asking_twice_keeps_the_token_and_extends_it(stage: Stage) -> None:
    first = await issue(stage, ttl_s=60)
    before = await tokens(stage)
    second = await issue(stage, ttl_s=900)
    after = await tokens(stage)
    assert first.token_id == second.token_id
    assert second.expires_at - first.expires_at >= timedelta(seconds=830)
    (name,) = after
    assert after[name]["token-secret"] == before[name]["token-secret"]
    assert datetime.fromisoformat(after[name]["expiration"]) == second.expires_at
    assert second.expires_at < datetime.now(UTC) + timedelta(seconds=901)


async def test_each_operation_has_a_token_of_its_own(stage: Stage) -> None:
    ids = {(await issue(stage, operation=f"operation-{number}")).token_id for number in range(5)}
    secrets = {data["token-secret"] for data in (await tokens(stage)).values()}
    assert len(ids) == len(secrets) == 5


async def test_a_token_that_is_not_ours_is_neither_used_nor_deleted(stage: Stage) -> None:
    issued = await issue(stage)
    name = f"bootstrap-token-{issued.token_id}"
    theirs = {"metadata": {"annotations": {"pools.lbr.dev/operation-id": None}}}
    merge = {"_content_type": "application/merge-patch+json"}
    await stage.world.core.patch_namespaced_secret(name, "kube-system", theirs, **merge)
    with pytest.raises(ApplicationError, match="somebody else's"):
        await issue(stage)
    with pytest.raises(ApplicationError, match="no bootstrap token"):
        await JoinActivities(stage.apis, stage.trusted).user_data(CREATE)
    await revoke(stage)
    assert list(await tokens(stage)) == [name]


async def test_a_revoked_token_is_gone_and_revoking_twice_is_fine(stage: Stage) -> None:
    await issue(stage)
    await revoke(stage)
    await revoke(stage)
    assert await tokens(stage) == {}


async def test_a_machine_joins_with_the_user_data_alone(stage: Stage) -> None:
    await issue(stage)
    user_data = await JoinActivities(stage.apis, stage.trusted).user_data(CREATE)
    server = ServerSeen(4711, CREATE.machine, user_data, "192.0.2.1", "cx23", 2, 4, 40, "fsn1")
    stage.world.nodes.boot(server)
    node = await eventually(lambda: stage.world.node_if(CREATE.machine, "True"))
    labels = node.metadata.labels
    assert node.spec.provider_id == "hcloud://4711"
    assert node.status.node_info.kubelet_version == stage.world.version
    assert labels["workload"] == "batch"
    assert labels["pools.lbr.dev/pool-id"] == "pool-id"
    assert labels["pools.lbr.dev/machine"] == CREATE.machine
    assert ("dedicated", "batch") in {(taint.key, taint.value) for taint in node.spec.taints}
    capacity, allocatable = node.status.capacity, node.status.allocatable
    kept = {name: amounts(capacity)[0][name] - amounts(allocatable)[0][name] for name in ("cpu", "memory", "pods")}
    assert kept == {"cpu": 70, "memory": 500 * 2**20, "pods": 0}, "300 and 100 MiB are reserved, 100 are for eviction"


@pytest.mark.simulator
@pytest.mark.parametrize("method", [JoinMethod.RKE2, JoinMethod.KUBEADM])
async def test_the_other_methods_user_data_joins_too(world: World, method: JoinMethod) -> None:
    async with staged(world, method) as stage:
        await issue(stage)
        user_data = await JoinActivities(stage.apis, stage.trusted).user_data(CREATE)
        stage.world.nodes.boot(ServerSeen(4711, CREATE.machine, user_data, "192.0.2.1", "cx23", 2, 4, 40, "fsn1"))
        node = await eventually(lambda: stage.world.node_if(CREATE.machine, "True"))
        assert node.spec.provider_id == "hcloud://4711"
        assert node.metadata.labels["workload"] == "batch"
        assert "dedicated" in {taint.key for taint in node.spec.taints}


async def test_a_cluster_that_no_machine_can_join_ends_the_create_for_good(world: World) -> None:
    async with staged(world, JoinMethod.KUBEADM) as stage:
        await issue(stage)
        stage.vault.kubeconfig = without_authority(stage.vault.kubeconfig)
        stage.vault.version += 1
        api = await stage.apis.get(CLUSTER)
        assert api.ca_pem is None
        with pytest.raises(ApplicationError, match="names no certificate authority") as caught:
            await JoinActivities(stage.apis, stage.trusted).user_data(CREATE)
        assert caught.value.non_retryable


def without_authority(kubeconfig: str) -> str:
    whole: dict[str, Any] = json.loads(kubeconfig)
    cluster = whole["clusters"][0]["cluster"]
    del cluster["certificate-authority-data"]
    cluster["insecure-skip-tls-verify"] = True
    return json.dumps(whole)
