"""The contract of the autoscaler: what pools tell of themselves, what is decided, and what is told of a pod or node.

The snapshot of a cluster stays in the activity that watches it. A decision carries names, sizes and sentences.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import BaseModel

from core.backoff import Backoff
from core.calls import Call, ClusterRef, ServerType
from core.machine import Presence
from core.spec import PoolSpec


class Standing(BaseModel):
    """Signal `standing` from a pool to its cluster: all that decisions need to know of it.

    `target` counts the machines that are to stay; of them `missing` have no server yet, and those named in `broken`
    were Ready and have no ready node now. `leaving` are the nodes of machines on their way out. `heard` is the number
    of the last order that the pool took in: what it said before it heard one says nothing of that one's effect.
    `aborted_at` is when a scale-down was last given up, `removed_at` when one last ended. `gone`: the pool has ended.
    """

    pool_id: str
    spec: PoolSpec
    server: ServerType | None = None
    target: int
    missing: int = 0
    broken: list[str] = []
    leaving: list[str] = []
    backoff: Backoff | None = None
    frozen: bool = False
    deleting: bool = False
    gone: bool = False
    heard: int = 0
    aborted_at: datetime | None = None
    removed_at: datetime | None = None


class Measured(BaseModel):
    """What pods may have of a node of one server type, as a real one said: thousandths of a core, bytes, counts."""

    allocatable: dict[str, int]


class Autoscale(BaseModel):
    """Watch a cluster until something is to be done, or until something must be remembered; or for `wait_s`.

    `unneeded` says since when each node has been one without a break; `measured` is by server type; `added` is when
    servers were last asked for; `blind` is why the cluster could not be seen when last told, '' when it could.
    """

    cluster: ClusterRef
    standings: list[Standing]
    unneeded: dict[str, datetime] = {}
    measured: dict[str, Measured] = {}
    added: datetime | None = None
    blind: str = ""
    wait_s: float = 1800


class Growth(BaseModel):
    """A pool's new size. A smaller one withdraws servers that could not be created."""

    pool: str
    size: int
    count: int
    message: str


class Removal(BaseModel):
    """A node to remove. `empty`: it holds nothing that must move, and must still be so when it goes."""

    pool: str
    node: str
    empty: bool
    message: str


class Decided(BaseModel):
    """What is to be done now, and what is to be remembered: whole, and None where unchanged."""

    growth: list[Growth] = []
    removals: list[Removal] = []
    unneeded: dict[str, datetime] | None = None
    measured: dict[str, Measured] | None = None
    blind: str | None = None


class AutoscaleOrder(BaseModel):
    """Signal `autoscale` from the cluster to a pool. `number` grows; `size` None leaves the size as it is."""

    number: int
    size: int | None = None
    removals: list[Removal] = []
    message: str = ""


class RecheckNode(BaseModel):
    """Look once more whether a cordoned node may go: a pod may have landed since it was decided."""

    cluster: ClusterRef
    node: str
    node_uid: str
    empty: bool


class Rechecked(BaseModel):
    """Why the node must stay; '' when it may go."""

    stays: str = ""


class UncordonNode(BaseModel):
    """Undo what CORDON_NODE did for the same operation, and nothing that others did. `why` becomes an event."""

    cluster: ClusterRef
    machine: str
    node_uid: str
    operation_id: str
    why: str


class Uncordoned(BaseModel):
    """Whether the node is there, and what was undone, in words."""

    presence: Presence
    undone: str = ""


class ObjectKind(StrEnum):
    """What can be explained."""

    POD = "pod"
    NODE = "node"


class ExplainObject(BaseModel):
    """Update `explain` of a cluster: what is decided about a pod or node, or, without a name, about all that wait.

    `namespace` is of a pod. Answers Explanation.
    """

    kind: ObjectKind | None = None
    name: str = ""
    namespace: str = "default"


class Explain(BaseModel):
    """Run a decision and say what it says, without acting on it."""

    given: Autoscale
    about: ExplainObject


class Verdict(BaseModel):
    """What is decided about one object. `name` is namespace/name for pods; `pool` and `node` are where it would go."""

    kind: ObjectKind
    name: str
    pool: str = ""
    node: str = ""
    reason: str
    meaning: str
    message: str


class Explanation(BaseModel):
    """The verdicts, by name. `left_out` counts those beyond what an answer holds; `note` says what they rest on."""

    verdicts: list[Verdict]
    left_out: int = 0
    note: str = ""


_S, _M = timedelta(seconds=1), timedelta(minutes=1)

AUTOSCALE = Call("autoscale", Autoscale, Decided, 32 * _M, 15 * _S)
EXPLAIN = Call("explain", Explain, Explanation, 30 * _S)
RECHECK_NODE = Call("recheck_node", RecheckNode, Rechecked, 30 * _S)
UNCORDON_NODE = Call("uncordon_node", UncordonNode, Uncordoned, 30 * _S)
