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
VOLUMES_PER_SERVER = 16  # Hetzner's FAQ on volumes; its CSI driver reports the same for every node (MaxVolumesPerNode)
# Of the memory that is sold the machine sees less: 6.9 % less was measured on 4 GB (cpx22, cax11), 5.4 % on 8 GB
# (cx33). Nothing was measured below; a line through these two gives 10 % on 2 GB. Promising too much would buy a server
# for a pod that does not fit it.
MEMORY_UNSEEN_PERCENT = 7
SMALL_GB, SMALL_UNSEEN_PERCENT = 4, 10
# The kubelet's default hard eviction thresholds of memory.available and nodefs.available. k3s and RKE2 set 5 % of the
# disk and nothing of memory, so their nodes have a little more than is promised.
EVICTION_MEMORY = 100 * 2**20
EVICTION_DISK_PERCENT = 10
# A GB of disk is 1.024e9 bytes: a cax11, sold with 40 GB, showed 40.94e9. ext4, behind a boot partition of 256 MiB,
# leaves 39.73e9 of it, and of larger disks a larger share.
DISK_GB = 990 * 10**6


def template(spec: PoolSpec, server: ServerType, pool_id: str, measured: Mapping[str, int] | None = None) -> Node:
    """The node of a server that `spec` would add. `measured` amounts, seen on such nodes, replace computed ones."""
    name, reserved = f"{spec.name}-new", reserved_for(server)
    unseen = SMALL_UNSEEN_PERCENT if server.memory_gb < SMALL_GB else MEMORY_UNSEEN_PERCENT
    capacity = {
        CPU: server.cores * 1000,
        MEMORY: int(server.memory_gb * GIB) * (100 - unseen) // 100,
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
