"""Reads a kubeconfig as the platform needs it: the current context alone, everything inline, no programs to run."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import yaml

from core.errors import FieldRefused

_FIELD = "--kubeconfig"
_INLINE = {
    "certificate-authority": "certificate-authority-data",
    "client-certificate": "client-certificate-data",
    "client-key": "client-key-data",
}


def read_kubeconfig(path: Path) -> str:
    """The kubeconfig at `path`, cut down to its current context, with files inlined. Raises FieldRefused."""
    config = _load(path)
    context = _named(config, "contexts", config.get("current-context"), "context")
    cluster = _inlined(_named(config, "clusters", context.get("cluster"), "cluster"), path.parent)
    user = _inlined(_named(config, "users", context.get("user"), "user"), path.parent)
    _check_server(cluster)
    _check_user(user)
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "managed",
            "contexts": [{"name": "managed", "context": {"cluster": "managed", "user": "managed"}}],
            "clusters": [{"name": "managed", "cluster": cluster}],
            "users": [{"name": "managed", "user": user}],
        }
    )


def _load(path: Path) -> dict[str, Any]:
    try:
        config = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise FieldRefused(_FIELD, f"{path} cannot be read: {reason}", hint="give the path of a kubeconfig") from error
    except yaml.YAMLError:
        # The parser's message quotes the file, which may hold a key.
        raise FieldRefused(_FIELD, f"{path} is not YAML", hint="give the path of a kubeconfig") from None
    if not isinstance(config, dict) or "clusters" not in config:
        raise FieldRefused(_FIELD, f"{path} is not a kubeconfig: it names no clusters", hint="kubectl config view")
    return config


def _named(config: dict[str, Any], table: str, name: str | None, kind: str) -> dict[str, Any]:
    for entry in config.get(table) or []:
        if name and isinstance(entry, dict) and entry.get("name") == name:
            return dict(entry.get(kind) or {})
    what = "current-context" if kind == "context" else f"the current context's {kind}"
    raise FieldRefused(
        _FIELD,
        f"{what} is {name!r}, which the file does not define" if name else f"{what} is not set",
        hint="choose one: kubectl config use-context NAME",
    )


def _inlined(entry: dict[str, Any], folder: Path) -> dict[str, Any]:
    """`entry` with files that it refers to, relative to the kubeconfig's folder, replaced by what they hold."""
    inlined = dict(entry)
    for key, data_key in _INLINE.items():
        if key in inlined:
            inlined[data_key] = base64.b64encode(_content(folder / inlined.pop(key), key)).decode()
    if "tokenFile" in inlined:
        inlined["token"] = _content(folder / inlined.pop("tokenFile"), "tokenFile").decode().strip()
    return inlined


def _content(path: Path, key: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FieldRefused(
            _FIELD, f"{key} names {path}, which cannot be read: {error.strerror}", hint="kubectl config view --flatten"
        ) from error


def _check_server(cluster: dict[str, Any]) -> None:
    server = str(cluster.get("server", ""))
    if not server.startswith(("https://", "http://")):
        raise FieldRefused(_FIELD, f"the cluster's server {server!r} is not a URL", hint="https://HOST:6443")


def _check_user(user: dict[str, Any]) -> None:
    for key in ("exec", "auth-provider"):
        if key in user:
            raise FieldRefused(
                _FIELD,
                f"the user gets its credentials from a program ({key}), which cannot run in the platform",
                hint="make a kubeconfig with a service account's token or a client certificate",
            )
