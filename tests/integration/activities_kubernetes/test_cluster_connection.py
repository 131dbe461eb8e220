"""Connections are made from what a kubeconfig says, and whatever it lacks is told without quoting it."""

from __future__ import annotations

import base64
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from activities.cluster_api import ClusterApi
from activities.cluster_errors import ClusterError, as_temporal
from sandbox.kubernetes.faults import ApiFault
from tests.integration.activities_kubernetes.kube_stage import CLUSTER, Stage


def changed(kubeconfig: str, kind: str, **changes: Any) -> str:
    """The kubeconfig with fields of its only cluster or user replaced; None removes one."""
    whole = yaml.safe_load(kubeconfig)
    entry = whole[f"{kind}s"][0][kind]
    entry.update(changes)
    whole[f"{kind}s"][0][kind] = {key: value for key, value in entry.items() if value is not None}
    return yaml.safe_dump(whole)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def admin_certificate(stage: Stage) -> dict[str, str]:
    """A client certificate of an administrator, as a kubeconfig holds it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters"),
            x509.NameAttribute(NameOID.COMMON_NAME, "admin"),
        ]
    )
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    pem = stage.world.cluster.authority.sign(
        request.public_bytes(serialization.Encoding.PEM), datetime.now(UTC)
    ).encode()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return {
        "client-certificate-data": base64.b64encode(pem).decode(),
        "client-key-data": base64.b64encode(secret).decode(),
    }


@pytest.mark.simulator
async def test_a_client_certificate_opens_the_cluster_and_is_on_no_disk(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = names(tmp_path)
    api = ClusterApi.from_text(changed(stage.vault.kubeconfig, "user", token=None, **admin_certificate(stage)))
    assert names(tmp_path) == before
    assert (await api.get("/api/v1/nodes"))["items"] == []
    await api.close()


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("cluster", {"server": None}),
        ("cluster", {"certificate-authority-data": "%%%"}),
        ("cluster", {"certificate-authority-data": base64.b64encode(b"no PEM at all").decode()}),
        ("user", {"client-certificate-data": base64.b64encode(b"x").decode(), "client-key-data": "eA=="}),
    ],
)
async def test_a_broken_kubeconfig_is_refused_and_not_quoted(stage: Stage, kind: str, changes: dict[str, Any]) -> None:
    with pytest.raises(ClusterError) as caught:
        ClusterApi.from_text(changed(stage.vault.kubeconfig, kind, **changes))
    assert caught.value.reason == "BadKubeconfig"
    assert stage.world.token not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "a: [b", "contexts: []\ncurrent-context: x\nclusters: []\nusers: []"])
def test_what_is_no_kubeconfig_is_refused(text: str) -> None:
    with pytest.raises(ClusterError, match="cannot be used"):
        ClusterApi.from_text(text)


@pytest.mark.simulator
async def test_an_authority_that_did_not_sign_the_server_is_not_trusted(stage: Stage, tmp_path: Path) -> None:
    other = type(stage.world.cluster.authority).fresh(datetime.now(UTC)).pem
    data = base64.b64encode(other.encode()).decode()
    api = ClusterApi.from_text(changed(stage.vault.kubeconfig, "cluster", **{"certificate-authority-data": data}))
    with pytest.raises(ClusterError, match="no connection") as caught:
        await api.version()
    assert caught.value.status is None
    await api.close()


@pytest.mark.simulator
async def test_a_refusal_keeps_its_sentence_and_how_long_to_wait(stage: Stage) -> None:
    api = await stage.apis.get(CLUSTER)
    with pytest.raises(ClusterError, match='nodes "nobody" not found') as missing:
        await api.get("/api/v1/nodes/nobody")
    assert missing.value.status == 404
    stage.world.cluster.faults.add(ApiFault("GET", "/api/v1/nodes", 429))
    with pytest.raises(ClusterError) as throttled:
        await api.get("/api/v1/nodes")
    assert (throttled.value.status, throttled.value.retry_after_s) == (429, 1.0)
    assert not as_temporal(throttled.value).non_retryable


async def test_the_connection_is_shared_until_another_kubeconfig_is_stored(stage: Stage) -> None:
    first = await stage.apis.get(CLUSTER)
    assert await stage.apis.get(CLUSTER) is first
    stage.vault.version += 1
    second = await stage.apis.get(CLUSTER)
    assert second is not first
    with pytest.raises(ClusterError, match="replaced"):
        await first.version()
    assert await second.version() == stage.world.version
