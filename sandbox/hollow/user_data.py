"""Reads from cloud-init user-data how a machine means to join: as k3s agent, RKE2 agent or by kubeadm."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

_AGENT_FILES = ("/etc/rancher/k3s/config.yaml", "/etc/rancher/rke2/config.yaml")
_KUBEADM_FILE = "/etc/kubernetes/managed-pool-join.yaml"
_FULL_TOKEN = re.compile(r"K10(?P<hash>[0-9a-f]{64})::(?P<token>.+)")
_VERSION = re.compile(r"(?:INSTALL_K3S_VERSION|INSTALL_RKE2_VERSION|KUBELET_VERSION)=[\"']?(v[0-9][\w.+-]*)")


class BadUserData(ValueError):
    """The text does not tell how to join; a real machine would boot and never appear."""


@dataclass(frozen=True)
class JoinPlan:
    """How the machine joins. `server` is a URL, or `host:port` for kubeadm; `ca_hash` is k3s' of the PEM.

    `node_name` and `version` are empty where the machine decides: its host name, the server's version.
    """

    server: str
    token: str
    ca_hash: str = ""
    node_name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    kubelet: Mapping[str, str] = field(default_factory=dict)
    sets_provider_id: bool = False
    version: str = ""


def parse(text: str) -> JoinPlan:
    """Read a `#cloud-config` document. Raises BadUserData."""
    files = _files(text)
    for path in _AGENT_FILES:
        if path in files:
            return _agent_plan(_mapping(files[path], path), text)
    if _KUBEADM_FILE in files:
        return _kubeadm_plan(files[_KUBEADM_FILE], text)
    raise BadUserData("no join configuration among write_files")


def _files(text: str) -> dict[str, str]:
    if not text.startswith("#cloud-config"):
        raise BadUserData("user-data does not start with #cloud-config")
    entries = _mapping(text, "user-data").get("write_files") or []
    return {str(entry["path"]): str(entry.get("content", "")) for entry in entries}


def _mapping(text: str, what: str) -> dict[str, Any]:
    try:
        loaded = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadUserData(f"{what}: {error}") from error
    if not isinstance(loaded, dict):
        raise BadUserData(f"{what} is not a mapping")
    return loaded


def _agent_plan(config: Mapping[str, Any], text: str) -> JoinPlan:
    kubelet = dict(_pair(argument) for argument in config.get("kubelet-arg") or [])
    full = _FULL_TOKEN.fullmatch(str(config.get("token", "")))
    labels = _labels(config.get("node-label") or []) | _labels(_commas(kubelet.get("node-labels", "")))
    taints = [*(config.get("node-taint") or []), *_commas(kubelet.get("register-with-taints", ""))]
    return JoinPlan(
        server=_needed(config, "server"),
        token=full["token"] if full else _needed(config, "token"),
        ca_hash=full["hash"] if full else "",
        node_name=str(config.get("node-name", "")),
        labels=labels,
        taints=tuple(parse_taint(taint) for taint in taints),
        kubelet=kubelet,
        sets_provider_id="provider-id" in text,
        version=_version(text),
    )


def _kubeadm_plan(content: str, text: str) -> JoinPlan:
    documents = [d for d in yaml.safe_load_all(content) if isinstance(d, dict)]
    join = next((d for d in documents if d.get("kind") == "JoinConfiguration"), None)
    if join is None:
        raise BadUserData("no JoinConfiguration")
    discovery = (join.get("discovery") or {}).get("bootstrapToken") or {}
    registration = join.get("nodeRegistration") or {}
    kubelet = _extra_args(registration.get("kubeletExtraArgs") or [])
    given = [*_commas(kubelet.get("register-with-taints", ""))]
    return JoinPlan(
        server=_needed(discovery, "apiServerEndpoint"),
        token=_needed(discovery, "token"),
        node_name=str(registration.get("name", "")),
        labels=_labels(_commas(kubelet.get("node-labels", ""))),
        taints=(*(registration.get("taints") or []), *(parse_taint(taint) for taint in given)),
        kubelet=kubelet,
        sets_provider_id="provider-id" in text,
        version=_version(text),
    )


def _extra_args(arguments: Any) -> dict[str, str]:
    """A list of name and value since v1beta4, a mapping before."""
    if isinstance(arguments, dict):
        return {str(name): str(value) for name, value in arguments.items()}
    return {str(entry["name"]): str(entry["value"]) for entry in arguments}


def _needed(config: Mapping[str, Any], key: str) -> str:
    if not config.get(key):
        raise BadUserData(f"{key} is missing")
    return str(config[key])


def _pair(argument: str) -> tuple[str, str]:
    name, _, value = argument.lstrip("-").partition("=")
    return name, value


def _commas(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def _labels(entries: Iterable[str]) -> dict[str, str]:
    return dict(_pair(entry) for entry in entries)


def parse_taint(text: str) -> dict[str, str]:
    """Read `key=value:Effect` or `key:Effect`. Raises BadUserData."""
    left, _, effect = text.rpartition(":")
    key, _, value = left.partition("=")
    if not key or not effect:
        raise BadUserData(f"{text!r} is not a taint")
    taint = {"key": key, "effect": effect}
    return taint | {"value": value} if value else taint


def _version(text: str) -> str:
    found = _VERSION.search(text)
    return found[1] if found else ""
