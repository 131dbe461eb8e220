"""Raw objects as the API has them, and clusters made of them, in few words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from core.autoscale.cluster import Cluster, Pool
from core.autoscale.nodes import Node, read_node
from core.autoscale.pods import Pod, Volume, read_daemon, read_pod
from core.autoscale.quantities import amounts
from core.autoscale.selectors import NodeTerm, Operator, Requirement
from core.autoscale.template import template
from core.backoff import Backoff
from core.calls import ServerType
from core.cloud_errors import CloudClass
from core.node_keys import node_labels
from core.spec import PoolSpec

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
SIZES = {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "40Gi", "pods": "110"}
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
BACKOFF = Backoff(cls=CloudClass.STOCK, failures=1, since=NOW, until=NOW.replace(hour=13), message="no stock of cx33")
IN_HEL1 = Volume((NodeTerm((Requirement("csi.hetzner.cloud/location", Operator.IN, ("hel1",)),)),), "csi.hetzner.cloud")
IN_FSN1 = Volume((NodeTerm((Requirement("csi.hetzner.cloud/location", Operator.IN, ("fsn1",)),)),), "csi.hetzner.cloud")


def raw_pod(
    name: str,
    requests: dict[str, str] | None = None,
    *,
    node: str = "",
    owner: str = "ReplicaSet/web",
    labels: dict[str, str] | None = None,
    notes: dict[str, str] | None = None,
    ports: tuple[int, ...] = (),
    namespace: str = "default",
    status: dict[str, Any] | None = None,
    meta: dict[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A Pod object: pending and Unschedulable unless it has a node."""
    kind, _, owner_name = owner.partition("/")
    owners = [{"kind": kind, "name": owner_name, "controller": True}] if owner else []
    container = {
        "name": "main",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"} if requests is None else requests},
        "ports": [{"containerPort": port, "hostPort": port} for port in ports],
    }
    phase = {"phase": "Running"} if node else {"phase": "Pending", "conditions": [UNSCHEDULABLE]}
    return {
        "metadata": {
            "namespace": namespace,
            "name": name,
            "labels": labels or {},
            "annotations": notes or {},
            "ownerReferences": owners,
            **(meta or {}),
        },
        "spec": {"containers": [container], **({"nodeName": node} if node else {}), **spec},
        "status": {**phase, **(status or {})},
    }


def pod(name: str = "p", requests: dict[str, str] | None = None, *, volumes_of: Any = None, **rest: Any) -> Pod:
    """The same, read."""
    return read_pod(raw_pod(name, requests, **rest), volumes_of or {})


def pods(count: int, name: str = "p", requests: dict[str, str] | None = None, **rest: Any) -> tuple[Pod, ...]:
    """Equal pods."""
    return tuple(pod(f"{name}-{number:03}", requests, **rest) for number in range(count))


def daemon(name: str, requests: dict[str, str], **spec: Any) -> Pod:
    """What a DaemonSet runs on each of its nodes."""
    raw = raw_pod(name, requests, **spec)
    made = {"metadata": raw["metadata"], "spec": {"template": {"metadata": {}, "spec": raw["spec"]}}}
    return read_daemon(made)


def node(
    name: str,
    pool: str = "",
    *,
    allocatable: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    taints: list[dict[str, str]] | None = None,
    notes: dict[str, str] | None = None,
    cordoned: bool = False,
    ready: bool = True,
) -> Node:
    """A Node object of 4 cores and 8 GiB in hel1, read."""
    own = node_labels(pool, f"{pool}-id", name, {}) if pool else {}
    here = {"kubernetes.io/hostname": name, "csi.hetzner.cloud/location": "hel1", "kubernetes.io/arch": "amd64"}
    amount = SIZES | (allocatable or {})
    return read_node(
        {
            "metadata": {"name": name, "labels": here | own | (labels or {}), "annotations": notes or {}},
            "spec": {"unschedulable": cordoned, "taints": taints or []},
            "status": {
                "allocatable": amount,
                "capacity": amount,
                "conditions": [{"type": "Ready", "status": str(ready)}],
            },
        }
    )


def spec(name: str, low: int = 0, high: int = 10, location: str = "hel1", **rest: Any) -> PoolSpec:
    """A pool's spec."""
    return PoolSpec(
        organization="acme",
        cluster="prod",
        name=name,
        credential="h",
        location=location,
        server_type="cx33",
        min=low,
        max=high,
        **rest,
    )


def pool(name: str = "a", *, sizes: dict[str, str] | None = None, **rest: Any) -> Pool:
    """A pool whose new nodes have 4 cores and 8 GiB, measured."""
    own = ("target", "booting", "missing", "backoff", "leaving", "frozen")
    options = {key: rest.pop(key) for key in own if key in rest}
    asked = spec(name, **rest)
    measured, _ = amounts(SIZES | (sizes or {}))
    cores, gib = measured["cpu"] // 1000, measured["memory"] / 2**30
    new = template(asked, ServerType(name="cx33", cores=cores, memory_gb=gib, disk_gb=80), f"{name}-id", measured)
    return Pool(asked, new, **{"target": 0, **options})


def cluster(pools: tuple[Pool, ...] = (), waiting: tuple[Pod, ...] = (), **rest: Any) -> Cluster:
    """A cluster of pools and pods."""
    return Cluster(**{"nodes": (), "pods": waiting, "pools": pools, **rest})
