"""What a kubelet says of its node: the Node object it registers and the conditions it reports. Pure."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sandbox.hollow.machine import ServerSeen
from sandbox.hollow.user_data import JoinPlan

_ARCHITECTURES = {"x86": "amd64", "arm": "arm64"}
_DEFAULT_PODS = 110
# The kubelet's default hard eviction thresholds, memory.available<100Mi and nodefs.available<10%. All hollow nodes have
# them: k3s and RKE2 reserve less by theirs, and the stricter of both is what a promise has to hold against.
_EVICTION_MEMORY_KI, _EVICTION_DISK = 100 * 1024, 0.1
# What the operating system shows of the memory sold: 6.87 % less was measured on 4 GB, 5.4 % less on 8 GB. Simply the
# first of these below 8 GB, and the second from there on; real machines differ a little by type and image.
_MEMORY_SHARE, _LARGE_MEMORY_SHARE, _LARGE_GB = 0.9313, 0.946, 8
_DISK_SHARE = 0.925  # of 2**30 bytes a GB: a device of 40.96e9 bytes was sold as 40 GB, and ext4 leaves 39.73e9 of it
_UNITS = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "k": 10**3, "M": 10**6, "G": 10**9}
_QUIET = {
    "MemoryPressure": ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
}
NO_NETWORK = (
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
    "message:Network plugin returns error: cni plugin not initialized"
)
UNHEALTHY = "PLEG is not healthy: pleg was last seen active 3m8s ago; threshold is 3m0s"


def node_object(
    server: ServerSeen, plan: JoinPlan, name: str, version: str, status: Mapping[str, Any]
) -> dict[str, Any]:
    """The Node as it registers, with the labels and taints it was told to."""
    architecture = _ARCHITECTURES[server.architecture]
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": architecture,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": architecture,
        "node.kubernetes.io/instance-type": server.server_type,
        "beta.kubernetes.io/instance-type": server.server_type,
        "topology.kubernetes.io/region": server.location,
        "topology.kubernetes.io/zone": server.location,
    }
    spec: dict[str, Any] = {}
    if plan.sets_provider_id:
        spec["providerID"] = f"hcloud://{server.server_id}"
    if plan.taints:
        spec["taints"] = [dict(taint) for taint in plan.taints]
    metadata = {"name": name, "labels": labels | dict(plan.labels)}
    head = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec}
    return head | {"status": {**status, "nodeInfo": _node_info(server, version)}}


def node_status(server: ServerSeen, plan: JoinPlan, name: str) -> dict[str, Any]:
    """Capacity, what of it pods may use, and addresses."""
    share = _MEMORY_SHARE if server.memory_gb < _LARGE_GB else _LARGE_MEMORY_SHARE
    shown, disk_ki = int(server.memory_gb * 2**20 * share), int(server.disk_gb * 2**20 * _DISK_SHARE)
    cpu, memory, disk = server.cores * 1000, shown, int(disk_ki * (1 - _EVICTION_DISK)) * 1024
    for argument in ("kube-reserved", "system-reserved"):
        reserved = dict(part.partition("=")[::2] for part in plan.kubelet.get(argument, "").split(",") if part)
        cpu -= _milli(reserved.get("cpu", "0"))
        memory -= _bytes(reserved.get("memory", "0")) // 1024
        disk -= _bytes(reserved.get("ephemeral-storage", "0"))
    capacity = {
        "cpu": str(server.cores),
        "memory": f"{shown}Ki",
        "ephemeral-storage": f"{disk_ki}Ki",
        "pods": plan.kubelet.get("max-pods", str(_DEFAULT_PODS)),
    }
    # The kubelet writes this one in bytes.
    left = {"cpu": f"{cpu}m", "memory": f"{memory - _EVICTION_MEMORY_KI}Ki", "ephemeral-storage": str(disk)}
    addresses = [
        {"type": "InternalIP", "address": server.public_ip},
        {"type": "ExternalIP", "address": server.public_ip},
        {"type": "Hostname", "address": name},
    ]
    return {"capacity": capacity, "allocatable": capacity | left, "addresses": addresses}


def _node_info(server: ServerSeen, version: str) -> dict[str, str]:
    machine = f"{server.server_id:032x}"
    return {
        "machineID": machine,
        "systemUUID": machine,
        "kernelVersion": "6.8.0-31-generic",
        "osImage": "Ubuntu 24.04 LTS",
        "containerRuntimeVersion": "containerd://2.1.4",
        "kubeletVersion": version,
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": _ARCHITECTURES[server.architecture],
    }


def conditions(why_not_ready: str, heartbeat: datetime) -> list[dict[str, str]]:
    """The four conditions; the node is Ready when there is no reason why not."""
    beat = f"{heartbeat:%Y-%m-%dT%H:%M:%SZ}"
    listed = [
        {"type": type_, "status": "False", "reason": reason, "message": message, "lastHeartbeatTime": beat}
        for type_, (reason, message) in _QUIET.items()
    ]
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    ready |= {"message": "kubelet is posting ready status", "lastHeartbeatTime": beat}
    if why_not_ready:
        ready |= {"status": "False", "reason": "KubeletNotReady", "message": why_not_ready}
    return [*listed, ready]


def moved(old: list[dict[str, str]], new: list[dict[str, str]], now: datetime) -> list[dict[str, str]]:
    """`new` with transition times: those of `old` where the status is the same."""
    before = {condition["type"]: condition for condition in old}
    stamp = f"{now:%Y-%m-%dT%H:%M:%SZ}"
    timed = []
    for condition in new:
        last = before.get(condition["type"], {})
        same = last.get("status") == condition["status"]
        timed.append(condition | {"lastTransitionTime": last.get("lastTransitionTime", stamp) if same else stamp})
    return timed


def _milli(quantity: str) -> int:
    return int(quantity[:-1]) if quantity.endswith("m") else round(float(quantity) * 1000)


def _bytes(quantity: str) -> int:
    found = re.fullmatch(r"(\d+)([A-Za-z]*)", quantity)
    if not found or found[2] not in _UNITS:
        raise ValueError(f"{quantity!r} is not a quantity of bytes")
    return int(found[1]) * _UNITS[found[2]]
