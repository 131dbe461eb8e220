"""The machine under a hollow node: what the cloud provider knows of it, and what can go wrong with it."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Fault(StrEnum):
    """Ways in which a node misbehaves."""

    NEVER_BOOTS = "never-boots"
    NEVER_JOINS = "never-joins"
    CLOCK_SKEW = "clock-skew"
    NO_NETWORK = "cni-missing"
    NOT_READY = "not-ready"
    FLAPPING = "flapping"
    FROZEN = "frozen"
    REBOOTED = "rebooted"
    PARTITIONED = "partitioned"


SILENT = frozenset({Fault.NEVER_BOOTS, Fault.NEVER_JOINS, Fault.FROZEN, Fault.PARTITIONED})
"""With these nothing of the node reaches the API server."""


@dataclass(frozen=True)
class ServerSeen:
    """A server as its provider reports it: cores, memory and disk in GB, as Hetzner's server types have them."""

    server_id: int
    name: str
    user_data: str
    public_ip: str
    server_type: str
    cores: int
    memory_gb: float
    disk_gb: float
    location: str
    architecture: str = "x86"

    def dump(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)
