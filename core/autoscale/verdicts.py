"""What a decision says: the servers to add, the nodes to remove, and a reason for each pod and each node."""

from __future__ import annotations

from dataclasses import dataclass

from core.autoscale.reasons import NodeReason, PodReason


@dataclass(frozen=True, slots=True)
class Resize:
    """A pool's new size. A negative `count` withdraws servers that were asked for and never came to be."""

    pool: str
    count: int
    size: int
    message: str


@dataclass(frozen=True, slots=True)
class PodVerdict:
    """What is done about a pod that waits. `node` is where it was placed in thought."""

    pod: str
    reason: PodReason
    message: str
    pool: str = ""
    node: str = ""


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """Whether a node goes, and why not. `pod` is the one that keeps it."""

    node: str
    pool: str
    reason: NodeReason
    message: str
    pod: str = ""
