"""Pods, nodes and pools made for measurements, in the API's form and as a decision reads them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from core.autoscale.cluster import Cluster, Pool
from core.autoscale.nodes import Node
from core.autoscale.pods import Pod, read_pod
from core.autoscale.template import template
from core.calls import ServerType
from core.node_keys import node_labels
from core.spec import PoolSpec

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
POOLS, NODES = 50, 1000
TYPES = (
    ServerType(name="cx33", cores=4, memory_gb=8, disk_gb=80),
    ServerType(name="cx43", cores=8, memory_gb=16, disk_gb=160),
    ServerType(name="cx53", cores=16, memory_gb=32, disk_gb=320),
)
UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/1000 nodes are available: 1000 Insufficient cpu. preemption: 0/1000 nodes are available.",
    "lastProbeTime": None,
    "lastTransitionTime": "2026-12-01T11:59:59Z",
}


def raw_pod(name: str, kind: int, *, node: str = "") -> dict[str, Any]:
    """A pod as an API server lists it, with all that it adds by itself: some 3.3 kB.

    Every kind asks for another amount. Of four kinds one asks for nodes of one team, and one tolerates a taint.
    """
    asked = {"cpu": f"{200 + kind % 500 * 7}m", "memory": f"{256 + kind % 499 * 11}Mi"}
    spec: dict[str, Any] = {
        "containers": [_container(asked)],
        "volumes": [_token_volume()],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "tolerations": _tolerations(kind),
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    if kind % 4 == 1:
        spec["nodeSelector"] = {"team": f"t{kind % POOLS}"}
    if node:
        spec["nodeName"] = node
    status = {"phase": "Running"} if node else {"phase": "Pending", "conditions": [UNSCHEDULABLE]}
    return {"metadata": _meta(name, kind), "spec": spec, "status": {**status, "qosClass": "Burstable"}}


def waiting(count: int, kinds: int) -> tuple[Pod, ...]:
    """Pods of so many kinds for which there is no room."""
    return tuple(read_pod(raw_pod(f"p{number}", number % kinds), {}) for number in range(count))


def cluster(pods: tuple[Pod, ...]) -> Cluster:
    """50 pools of 20 nodes each, every node filled by four pods; and `pods`, which wait."""
    pools = [_pool(number) for number in range(POOLS)]
    nodes = [_node(pools[number % POOLS], number) for number in range(NODES)]
    running = tuple(pod for number, node in enumerate(nodes) for pod in _filling(node, number))
    return Cluster(nodes=tuple(nodes), pods=(*running, *pods), pools=tuple(pools))


def _pool(number: int) -> Pool:
    spec = PoolSpec(
        organization="acme",
        cluster="prod",
        name=f"pool-{number}",
        credential="hetzner",
        location="hel1",
        server_type=TYPES[number % len(TYPES)].name,
        min=0,
        max=1000,
        labels={"team": f"t{number}"},
    )
    return Pool(spec, template(spec, TYPES[number % len(TYPES)], f"{spec.name}-id"), target=NODES // POOLS)


def _node(pool: Pool, number: int) -> Node:
    name, new = f"{pool.spec.name}-{number}", pool.template
    own = {"kubernetes.io/hostname": name, **node_labels(pool.spec.name, f"{pool.spec.name}-id", name, {})}
    return Node(name=name, labels={**new.labels, **own}, allocatable=new.allocatable, capacity=new.capacity)


def _filling(node: Node, number: int) -> list[Pod]:
    """Four pods that leave a node too little for another."""
    each = node.allocatable["cpu"] // 4
    filled = []
    for part in range(4):
        raw = raw_pod(f"r{number}-{part}", number % 200, node=node.name)
        raw["spec"]["containers"][0]["resources"]["requests"] = {"cpu": f"{each}m", "memory": "512Mi"}
        raw["spec"].pop("nodeSelector", None)
        filled.append(read_pod(raw, {}))
    return filled


def _meta(name: str, kind: int) -> dict[str, Any]:
    labels = {"app": f"app-{kind}", "pod-template-hash": f"7d{kind:05}", "version": "v1"}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"app-{kind}-7d", "uid": f"rs-{kind}"}
    return {
        "name": name,
        "generateName": f"app-{kind}-7d-",
        "namespace": "default",
        "uid": f"uid-{name}",
        "resourceVersion": "100042",
        "creationTimestamp": "2026-12-01T11:59:58Z",
        "labels": labels,
        "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "8080"},
        "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        "managedFields": _managed(),
    }


def _managed() -> list[dict[str, Any]]:
    """What the API server notes of who set what; more than a third of a pod's text."""
    container = _fields("image", "imagePullPolicy", "name", "resources", "securityContext")
    ports = {'k:{"containerPort":8080,"protocol":"TCP"}': _fields("containerPort", "protocol")}
    spec = _fields("dnsPolicy", "enableServiceLinks", "restartPolicy", "schedulerName")
    labels = _fields("app", "pod-template-hash", "version")
    fields = {
        "f:metadata": {**_fields("annotations", "ownerReferences"), "f:labels": labels},
        "f:spec": {"f:containers": {'k:{"name":"main"}': {**container, "f:ports": ports}}, **spec},
    }
    one = {"operation": "Update", "apiVersion": "v1", "time": "2026-12-01T11:59:58Z", "fieldsType": "FieldsV1"}
    condition = {'k:{"type":"PodScheduled"}': _fields("message", "reason", "status", "type")}
    return [
        {**one, "manager": "kube-controller-manager", "fieldsV1": fields},
        {**one, "manager": "kube-scheduler", "fieldsV1": {"f:status": {"f:conditions": condition}}},
    ]


def _fields(*names: str) -> dict[str, Any]:
    return {".": {}, **{f"f:{name}": {} for name in names}}


def _container(asked: dict[str, str]) -> dict[str, Any]:
    return {
        "name": "main",
        "image": "registry.example.com/team/application:1.42.7",
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "env": [{"name": f"SETTING_{number}", "value": f"value-{number}"} for number in range(6)],
        "resources": {"requests": asked, "limits": {"memory": "1Gi"}},
        "volumeMounts": [
            {"name": "kube-api-access", "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
        ],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }


def _token_volume() -> dict[str, Any]:
    item = {"key": "namespace", "path": "namespace"}
    reference = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{**item, **reference}]}},
    ]
    return {"name": "kube-api-access", "projected": {"sources": sources, "defaultMode": 420}}


def _tolerations(kind: int) -> list[dict[str, Any]]:
    common = [
        {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for what in ("not-ready", "unreachable")
    ]
    own = {"key": "dedicated", "operator": "Equal", "value": f"k{kind}", "effect": "NoSchedule"}
    return [*common, own] if kind % 4 == 2 else common
