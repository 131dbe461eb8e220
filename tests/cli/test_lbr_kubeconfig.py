"""A kubeconfig is cut down to what the platform needs, and refused where the platform could not use it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.errors import FieldRefused
from starter.kubeconfig import read_kubeconfig


def config(user: dict[str, Any], **cluster: str) -> dict[str, Any]:
    """A kubeconfig with two contexts, the first one current."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "prod",
        "contexts": [
            {"name": "prod", "context": {"cluster": "prod", "user": "admin"}},
            {"name": "other", "context": {"cluster": "other", "user": "other"}},
        ],
        "clusters": [
            {"name": "prod", "cluster": {"server": "https://10.0.0.1:6443", **cluster}},
            {"name": "other", "cluster": {"server": "https://10.0.0.2:6443"}},
        ],
        "users": [{"name": "admin", "user": user}, {"name": "other", "user": {"token": "other-token"}}],
    }


def write(folder: Path, content: object) -> Path:
    """`content` as a kubeconfig file."""
    path = folder / "kubeconfig"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def test_only_the_current_context_is_sent(tmp_path: Path) -> None:
    """What else the file opens stays at home."""
    text = read_kubeconfig(write(tmp_path, config({"token": "t"})))
    sent = yaml.safe_load(text)
    assert [entry["cluster"]["server"] for entry in sent["clusters"]] == ["https://10.0.0.1:6443"]
    assert sent["users"] == [{"name": sent["contexts"][0]["context"]["user"], "user": {"token": "t"}}]
    assert "other" not in text


def test_files_are_inlined(tmp_path: Path) -> None:
    """Certificates and token files, by paths relative to the kubeconfig."""
    for name in ("ca.crt", "client.crt", "client.key"):
        (tmp_path / name).write_text(f"PEM of {name}")
    (tmp_path / "token").write_text("from-file\n")
    user = {"client-certificate": "client.crt", "client-key": str(tmp_path / "client.key"), "tokenFile": "token"}
    sent = yaml.safe_load(read_kubeconfig(write(tmp_path, config(user, **{"certificate-authority": "ca.crt"}))))
    cluster, user = sent["clusters"][0]["cluster"], sent["users"][0]["user"]
    assert base64.b64decode(cluster["certificate-authority-data"]) == b"PEM of ca.crt"
    assert base64.b64decode(user["client-key-data"]) == b"PEM of client.key"
    assert user["token"] == "from-file"
    assert {"client-certificate", "client-key", "tokenFile"}.isdisjoint(user)


@pytest.mark.parametrize("program", ["exec", "auth-provider"])
def test_programs_are_refused(tmp_path: Path, program: str) -> None:
    """They cannot run where the platform runs."""
    with pytest.raises(FieldRefused, match="from a program") as caught:
        read_kubeconfig(write(tmp_path, config({program: {"command": "aws"}})))
    assert "service account" in caught.value.hint


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"current-context": ""}, "current-context is not set"),
        ({"current-context": "gone"}, "current-context is 'gone', which the file does not define"),
        ({"clusters": []}, "cluster is 'prod', which the file does not define"),
        ({"users": []}, "user is 'admin', which the file does not define"),
        ({"clusters": [{"name": "prod", "cluster": {}}]}, "is not a URL"),
    ],
)
def test_a_context_that_leads_nowhere_is_refused(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    """Naming what does not resolve."""
    with pytest.raises(FieldRefused, match="--kubeconfig") as caught:
        read_kubeconfig(write(tmp_path, {**config({"token": "t"}), **change}))
    assert says in caught.value.message


@pytest.mark.parametrize("text", ["key: [secret-key-material", "just words", "- a\n- list\n"])
def test_what_is_no_kubeconfig_is_refused_and_not_quoted(tmp_path: Path, text: str) -> None:
    """It may hold a key."""
    with pytest.raises(FieldRefused) as caught:
        read_kubeconfig(write(tmp_path, text))
    assert "secret-key-material" not in caught.value.message


def test_missing_files_are_named(tmp_path: Path) -> None:
    """The kubeconfig itself, and a certificate that it refers to."""
    with pytest.raises(FieldRefused, match="cannot be read: No such file"):
        read_kubeconfig(tmp_path / "gone")
    with pytest.raises(FieldRefused, match="client-key names"):
        read_kubeconfig(write(tmp_path, config({"client-key": "gone.key"})))
