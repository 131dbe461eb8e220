"""The node that a pool's next server will be: told by the spec and the server type, never by a node that was."""

from __future__ import annotations

from collections.abc import Mapping

from core.autoscale.nodes import Node
from core.autoscale.pods import HOSTNAME, VOLUME_DRIVER, VOLUME_SLOTS
from core.autoscale.quantities import CPU, EPHEMERAL, MEMORY, PODS
from core.calls import ServerType
from core.node_keys import node_labels
from core.reserved import MAX_PODS, reserved_for
from core.spec import PoolSpec

GIB = 2**30
VOLUMES_PER_SERVER = 16  # Hetzner's limit, which its CSI driver reports for every node
# Of the memory that is sold the machine sees less: 6.87 % less was measured on 4 GB, 5.4 % on 8 GB. Promising too
# much would buy server after server for a pod that fits none of them.
MEMORY_UNSEEN_PERCENT = 7
EVICTION_MEMORY = 100 * 2**20  # the kubelet's default hard eviction threshold of memory.available
EVICTION_DISK_PERCENT = 10  # the kubelet's default hard eviction threshold of nodefs.available
DISK_GB = 10**9  # the smaller reading of a gigabyte, which also covers what partitions and the file system take


def template(spec: PoolSpec, server: ServerType, pool_id: str, measured: Mapping[str, int] | None = None) -> Node:
    """The node of a server that `spec` would add. `measured` amounts, seen on such nodes, replace computed ones."""
    name, reserved = f"{spec.name}-new", reserved_for(server)
    capacity = {
        CPU: server.cores * 1000,
        MEMORY: int(server.memory_gb * GIB) * (100 - MEMORY_UNSEEN_PERCENT) // 100,
        EPHEMERAL: server.disk_gb * DISK_GB,
        PODS: MAX_PODS,
    }
    allocatable = {
        CPU: max(0, capacity[CPU] - reserved.cpu),
        MEMORY: max(0, capacity[MEMORY] - EVICTION_MEMORY - reserved.memory),
        EPHEMERAL: max(0, capacity[EPHEMERAL] * (100 - EVICTION_DISK_PERCENT) // 100 - reserved.disk),
        PODS: MAX_PODS,
        VOLUME_SLOTS: VOLUMES_PER_SERVER,
    }
    labels = {
        HOSTNAME: name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": server.architecture,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": server.architecture,
        "node.kubernetes.io/instance-type": server.name,
        "beta.kubernetes.io/instance-type": server.name,
        "topology.kubernetes.io/region": spec.location,
        "topology.kubernetes.io/zone": spec.location,
        f"{VOLUME_DRIVER}/location": spec.location,
    }
    return Node(
        name=name,
        labels=labels | node_labels(spec.name, pool_id, name, spec.labels),
        allocatable=allocatable | dict(measured or {}),
        capacity=capacity,
        taints=tuple(spec.taints),
    )
