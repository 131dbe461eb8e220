"""Who may do what: admin, bootstrap tokens with an end, kubelets within NodeRestriction, RBAC."""

import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from kubernetes.aio import client

from sandbox.hollow.bootstrap import Credential
from sandbox.kubernetes.objects import stamp
from tests.cluster_world import World, eventually

As = Callable[..., client.CoreV1Api]


@pytest_asyncio.fixture
async def as_token(world: World, tmp_path: Path) -> AsyncIterator[As]:
    """Clients with tokens of our choosing."""
    async with AsyncExitStack() as stack:

        def make(token: str, certificate: Credential | None = None) -> client.CoreV1Api:
            settings = client.Configuration(host=world.url)
            if certificate:
                for name, text in certificate.dump().items():
                    (tmp_path / f"{name}.pem").write_text(text)
                settings.cert_file, settings.key_file = tmp_path / "certificate.pem", tmp_path / "key.pem"
            if token:
                settings.api_key = {"authorization": f"Bearer {token}"}
            settings.ca_cert_data = world.ca_pem
            api = client.ApiClient(settings)
            stack.push_async_callback(api.close)
            return client.CoreV1Api(api)

        yield make


@pytest_asyncio.fixture
async def kubelet(world: World, as_token: As) -> client.CoreV1Api:
    """A client with the credential of the node pool-1."""
    await world.ready_node(1)
    node = world.nodes.get("pool-1")
    assert node is not None
    assert node.credential is not None
    return as_token("", node.credential)


async def code_of(call: Any) -> tuple[int, str]:
    with pytest.raises(client.ApiException) as caught:
        await call
    return caught.value.status, json.loads(caught.value.body)["message"]


async def turned_away(core: client.CoreV1Api) -> None:
    """A token that ended is refused; a real API server believes what it knew for 10 s more."""

    async def refused() -> bool:
        return (await code_of(core.list_node()))[0] == 401

    await eventually(refused, 20)


async def test_unknown_tokens_answer_401_and_none_403(as_token: As) -> None:
    assert await code_of(as_token("nonsense").list_node()) == (401, "Unauthorized")
    assert await code_of(as_token("").list_node()) == (
        403,
        'nodes is forbidden: User "system:anonymous" cannot list resource "nodes" in API group "" at the cluster scope',
    )


async def test_the_version_needs_no_token(world: World, as_token: As) -> None:
    found = await client.VersionApi(as_token("").api_client).get_code()
    assert found.git_version == world.version


async def test_a_bootstrap_token_may_ask_for_certificates_only(world: World, as_token: As) -> None:
    core = as_token(await world.bootstrap_token())
    code, message = await code_of(core.create_node({"metadata": {"name": "n"}}))
    assert code == 403
    assert 'User "system:bootstrap:abcdef" cannot create resource "nodes"' in message
    await client.CertificatesV1Api(core.api_client).list_certificate_signing_request()


async def test_an_expired_bootstrap_token_is_refused_and_removed(world: World, as_token: As) -> None:
    soon = stamp(datetime.now(UTC) + timedelta(seconds=2))
    core = as_token(await world.bootstrap_token(soon, "expire"))
    await client.CertificatesV1Api(core.api_client).list_certificate_signing_request()

    async def gone() -> bool:
        secrets = await world.core.list_namespaced_secret("kube-system")
        return all(secret.metadata.name != "bootstrap-token-expire" for secret in secrets.items)

    await eventually(gone, 30)
    await turned_away(core)


async def test_who_may_only_ask_for_a_certificate_is_not_given_one(world: World) -> None:
    rbac = client.RbacAuthorizationV1Api(world.api)
    group = "rbac.authorization.k8s.io"
    subject = {"kind": "Group", "name": "system:bootstrappers", "apiGroup": group}
    role = {"kind": "ClusterRole", "name": "system:node-bootstrapper", "apiGroup": group}
    await rbac.create_cluster_role_binding({"metadata": {"name": "ask"}, "roleRef": role, "subjects": [subject]})
    world.nodes.boot(world.server(9, await world.bootstrap_token(joins=False)))
    requests = client.CertificatesV1Api(world.api)

    async def asked() -> bool:
        return bool((await requests.list_certificate_signing_request()).items)

    await eventually(asked)
    await world.ready_node(1)  # by then the first request would have been granted too
    waiting = [each for each in (await requests.list_certificate_signing_request()).items if not each.status.conditions]
    assert [each.spec.username for each in waiting] == ["system:bootstrap:abcdef"]


@pytest.mark.parametrize(
    ("label", "allowed"),
    [
        ("team", True),
        ("example.org/team", True),
        ("node.kubernetes.io/flavour", True),
        ("topology.kubernetes.io/zone", True),
        ("node-role.kubernetes.io/worker", False),
        ("node-restriction.kubernetes.io/secure", False),
        ("kubernetes.io/anything", False),
        ("sub.k8s.io/x", False),
    ],
)
async def test_a_kubelet_sets_only_labels_of_its_own(kubelet: client.CoreV1Api, label: str, allowed: bool) -> None:
    patch = kubelet.patch_node("pool-1", {"metadata": {"labels": {label: "x"}}})
    if allowed:
        assert (await patch).metadata.labels[label] == "x"
    else:
        code, message = await code_of(patch)
        assert code == 403
        assert "is not allowed to modify labels" in message


async def test_a_kubelet_keeps_to_its_own_node(world: World, kubelet: client.CoreV1Api) -> None:
    await world.core.create_node({"metadata": {"name": "other"}})
    assert (await kubelet.patch_node("pool-1", {"spec": {"unschedulable": True}})).spec.unschedulable
    calls = {
        "other node": kubelet.patch_node("other", {"metadata": {"labels": {"a": "b"}}}),
        "own taints": kubelet.patch_node("pool-1", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}),
        "delete itself": kubelet.delete_node("pool-1"),
        "foreign name": kubelet.create_node({"metadata": {"name": "pool-9"}}),
        "secrets": kubelet.list_namespaced_secret("kube-system"),
    }
    for what, call in calls.items():
        assert (await code_of(call))[0] == 403, what


async def test_roles_and_bindings_grant_what_they_say(world: World, as_token: As) -> None:
    rbac = client.RbacAuthorizationV1Api(world.api)
    role = {"metadata": {"name": "reader"}, "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}]}
    await rbac.create_cluster_role(role)
    subject = {"kind": "Group", "name": "system:bootstrappers", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "ClusterRole", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}
    await rbac.create_cluster_role_binding({"metadata": {"name": "r"}, "roleRef": reference, "subjects": [subject]})
    core = as_token(await world.bootstrap_token())
    assert (await core.list_node()).items == []
    assert (await code_of(core.delete_node("x")))[0] == 403


async def test_a_service_account_token_names_its_account_and_ends_with_it(world: World, as_token: As) -> None:
    await world.core.create_namespaced_service_account("default", {"metadata": {"name": "robot"}})
    token = (await world.run("create", "token", "robot", "--duration=10m")).strip()
    code, message = await code_of(as_token(token).list_node())
    assert code == 403
    assert 'User "system:serviceaccount:default:robot" cannot list resource "nodes"' in message
    forged = token[:-4] + "AAAA"
    assert (await code_of(as_token(forged).list_node()))[0] == 401
    await world.core.delete_namespaced_service_account("robot", "default")
    await turned_away(as_token(token))


async def test_a_token_secret_is_filled_and_valid_while_it_exists(world: World, as_token: As) -> None:
    account = {"kubernetes.io/service-account.name": "default"}
    metadata = {"name": "t", "annotations": account}
    body = {"metadata": metadata, "type": "kubernetes.io/service-account-token"}
    await world.core.create_namespaced_secret("default", body)

    async def filled() -> str:
        data = (await world.core.read_namespaced_secret("t", "default")).data or {}
        return base64.b64decode(data.get("token", "")).decode()

    core = as_token(await eventually(filled))
    assert (await code_of(core.list_node()))[0] == 403
    await world.core.delete_namespaced_secret("t", "default")
    await turned_away(core)
