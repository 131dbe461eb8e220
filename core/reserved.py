"""What a machine's kubelet keeps from pods. The same figures go into its join configuration and into templates."""

from __future__ import annotations

from dataclasses import dataclass

from core.calls import ServerType

MIB, GIB = 2**20, 2**30
MAX_PODS = 110  # the kubelet's own default, said openly so that no image's configuration says otherwise
# k3s' documentation measured 275 MB for an agent with a small workload; containerd's share grows with its pods.
KUBE_MEMORY = 300 * MIB
SYSTEM_MEMORY = 100 * MIB  # what cloud images of Debian and Ubuntu use without Kubernetes, roughly
KUBE_DISK, SYSTEM_DISK = GIB, GIB  # logs and the agent's own files; images are what eviction is for
# GKE's published formula: thousandths of a core that are kept of the first, the second, the next two, each further.
CPU_STEPS = ((1, 60), (1, 10), (2, 5))
CPU_BEYOND = 2.5


@dataclass(frozen=True, slots=True)
class Reserved:
    """Thousandths of a core, and bytes."""

    cpu: int
    memory: int
    disk: int

    def __str__(self) -> str:
        """As the kubelet's flags want it."""
        cpu = [f"cpu={self.cpu}m"] if self.cpu else []
        return ",".join([*cpu, f"memory={self.memory // MIB}Mi", f"ephemeral-storage={self.disk // MIB}Mi"])


@dataclass(frozen=True, slots=True)
class Reservations:
    """What is kept for Kubernetes' own programs, and for the rest of the system."""

    kube: Reserved
    system: Reserved

    @property
    def cpu(self) -> int:
        """Both together, in thousandths of a core."""
        return self.kube.cpu + self.system.cpu

    @property
    def memory(self) -> int:
        """Both together, in bytes."""
        return self.kube.memory + self.system.memory

    @property
    def disk(self) -> int:
        """Both together, in bytes."""
        return self.kube.disk + self.system.disk

    @property
    def kubelet_flags(self) -> dict[str, str]:
        """The kubelet's flags by name."""
        return {"kube-reserved": str(self.kube), "max-pods": str(MAX_PODS), "system-reserved": str(self.system)}


def reserved_for(server: ServerType) -> Reservations:
    """What is kept of a server of this type."""
    return Reservations(
        kube=Reserved(cpu=_cpu(server.cores), memory=KUBE_MEMORY, disk=KUBE_DISK),
        system=Reserved(cpu=0, memory=SYSTEM_MEMORY, disk=SYSTEM_DISK),
    )


def _cpu(cores: int) -> int:
    kept, left = 0.0, cores
    for count, each in CPU_STEPS:
        taken = min(left, count)
        kept, left = kept + taken * each, left - taken
    return round(kept + left * CPU_BEYOND)
