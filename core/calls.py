"""The contract between workflows and activities: each call's name, what it takes and gives, and its limits.

Everything here is small (ids, names, digests), because a payload is part of a workflow's history. Secrets are
named, never carried: an activity opens the sealed credential or kubeconfig itself, at each use.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from core.labels import Taint
from core.machine import Presence
from core.sealing import SealedSecret
from core.spec import PoolSpec

In = TypeVar("In", bound=BaseModel)
Out = TypeVar("Out", bound=BaseModel)


@dataclass(frozen=True)
class Call(Generic[In, Out]):
    """One activity: its registered name, its types, how long one attempt may take and how often it beats.

    `mutates`: it changes the world, so whoever cancels it waits until it has really stopped.
    """

    name: str
    takes: type[In]
    gives: type[Out]
    attempt: timedelta
    heartbeat: timedelta | None = None
    mutates: bool = False


class Nothing(BaseModel):
    """An empty answer."""


class ProjectRef(BaseModel):
    """A Hetzner project, by the credential that opens it."""

    organization: str
    credential: str


class ClusterRef(BaseModel):
    """A registered cluster."""

    organization: str
    cluster: str


class Owner(BaseModel):
    """Whose a thing in the cloud is: what its labels must say before it is adopted or deleted."""

    organization: str
    cluster_id: str
    pool_id: str
    operation_id: str = ""


# --- organization: credentials, clusters, placement -------------------------------------------------------


class Health(StrEnum):
    """What a probe found."""

    VALID = "Valid"
    INVALID = "Invalid"
    UNKNOWN = "Unknown"


class ProbeCredential(BaseModel):
    """Try a sealed token: one read, and one write that the API refuses for its body."""

    organization: str
    name: str
    sealed: SealedSecret


class Probe(BaseModel):
    """A probe's finding. `reason` is an error code of the API or a short word; `message` a sentence."""

    health: Health
    reason: str = ""
    message: str = ""


class JoinMethod(StrEnum):
    """How a machine becomes a node."""

    K3S = "k3s"
    RKE2 = "rke2"
    KUBEADM = "kubeadm"


class ProbeCluster(BaseModel):
    """Try a sealed kubeconfig."""

    organization: str
    cluster: str
    sealed: SealedSecret
    api_endpoint: str | None
    join: JoinMethod


class ClusterProbe(BaseModel):
    """What a cluster said: its version (`v1.34.1+k3s1`), its id (UID of kube-system), where nodes reach it."""

    health: Health
    reason: str = ""
    message: str = ""
    version: str = ""
    cluster_id: str = ""
    api_endpoint: str = ""


class ApplyManifest(BaseModel):
    """Apply a CNI manifest (multi-document YAML) to a cluster, once."""

    cluster: ClusterRef
    sealed: SealedSecret
    manifest: str


class Applied(BaseModel):
    """Which objects were applied, as kind/name."""

    objects: list[str]


class CheckPlacement(BaseModel):
    """Look a server type and a location up in today's catalogue."""

    project: ProjectRef
    location: str
    server_type: str


class ServerType(BaseModel):
    """A server type of the catalogue: cores, memory and disk in GB, and the architecture as Kubernetes names it."""

    model_config = ConfigDict(frozen=True)

    name: str
    cores: int
    memory_gb: float
    disk_gb: int
    architecture: str = "amd64"


class Placement(BaseModel):
    """The catalogue's answer. `sold_in` names the locations that sell the type; `server` is None for an unknown one."""

    known_locations: list[str]
    known_types: list[str]
    sold_in: list[str]
    server: ServerType | None = None


class ReadPool(BaseModel):
    """Ask a pool's workflow for its spec."""

    workflow_id: str


class PoolLookup(BaseModel):
    """A pool's spec, or None where no such pool runs."""

    spec: PoolSpec | None
    deleting: bool = False


class Named(BaseModel):
    """Updates `delete_credential` and `deregister_cluster`. Answers Done. Query `sealed_credential` too."""

    name: str


class Connection(BaseModel):
    """Query `connection` of a cluster: what an activity needs to reach it. The kubeconfig stays sealed."""

    sealed: SealedSecret
    cluster_id: str
    join: JoinMethod
    api_endpoint: str
    version: str


# --- a pool's watch and upkeep ----------------------------------------------------------------------------


class MachineKnown(BaseModel):
    """What the pool knows of one machine: identities, and the digest of what it saw last."""

    server_id: int | None
    node_uid: str | None
    digest: str


class WatchPool(BaseModel):
    """Return when something about these machines differs from what is known, or after `wait_s` seconds."""

    project: ProjectRef
    cluster: ClusterRef
    pool_id: str
    machines: dict[str, MachineKnown]
    labels: dict[str, str]
    taints: list[Taint]
    cloud: Health
    api: Health
    wait_s: float = 1800


class MachineSeen(BaseModel):
    """One machine as the world shows it. `in_step`: its labels and taints are what the spec asks for."""

    server: Presence
    node: Presence
    node_uid: str | None = None
    ready: bool | None = None
    waiting_for: str = ""
    version: str = ""
    in_step: bool = True
    digest: str


class PoolObservation(BaseModel):
    """What differs. Machines that are as known are left out. `refused`: the cloud refused the token."""

    machines: dict[str, MachineSeen]
    cloud: Health
    api: Health
    refused: bool = False
    message: str = ""


class SyncNodes(BaseModel):
    """Bring labels and taints of these nodes (machine name -> node UID) into step, touching only keys we own."""

    cluster: ClusterRef
    nodes: dict[str, str]
    labels: dict[str, str]
    taints: list[Taint]


class Synced(BaseModel):
    """Machine name -> what was changed on its node ('' where nothing was); `missing` have no such node."""

    changed: dict[str, str]
    missing: list[str] = []


class CountPods(BaseModel):
    """Count the pods on these nodes that a drain would evict."""

    cluster: ClusterRef
    nodes: list[str]


class PodCount(BaseModel):
    """The count, or None where the cluster did not answer."""

    pods: int | None


class FindEnded(BaseModel):
    """Which of these workflow ids are no longer running."""

    workflow_ids: list[str]


class Ended(BaseModel):
    """Those that are not running."""

    workflow_ids: list[str]


class EnsureKey(BaseModel):
    """Have an SSH key for the pool, so that Hetzner mails no root passwords. Its private half is thrown away."""

    project: ProjectRef
    owner: Owner
    name: str


class KeySeen(BaseModel):
    """The key's id in the project."""

    key_id: int


class RemoveKeys(BaseModel):
    """Delete the pool's SSH keys."""

    project: ProjectRef
    owner: Owner


class AuditPool(BaseModel):
    """Look for anything that is left of a pool. `machines` are all names the pool ever used."""

    project: ProjectRef
    cluster: ClusterRef
    owner: Owner
    server_ids: list[int]


class Leftovers(BaseModel):
    """What is left, as ids or names. All empty: nothing lingers."""

    servers: list[int] = []
    primary_ips: list[int] = []
    ssh_keys: list[int] = []
    nodes: list[str] = []
    bootstrap_secrets: list[str] = []

    def __str__(self) -> str:
        found = [f"{len(ids)} {kind.replace('_', ' ')}" for kind, ids in self if ids]
        return ", ".join(found) or "nothing"

    @property
    def empty(self) -> bool:
        """Whether nothing is left."""
        return not any(ids for _, ids in self)


# --- the cluster's watch ----------------------------------------------------------------------------------


class WatchCluster(BaseModel):
    """Return when health, version or the number of nodes differ from what is known, or after `wait_s`."""

    cluster: ClusterRef
    known_digest: str
    wait_s: float = 1800


class ClusterSeen(BaseModel):
    """A cluster's health and version."""

    health: Health
    reason: str = ""
    message: str = ""
    version: str = ""
    nodes: int = 0
    digest: str


_S, _M = timedelta(seconds=1), timedelta(minutes=1)

PROBE_CREDENTIAL = Call("probe_credential", ProbeCredential, Probe, 60 * _S, 20 * _S)
PROBE_CLUSTER = Call("probe_cluster", ProbeCluster, ClusterProbe, 30 * _S)
APPLY_MANIFEST = Call("apply_manifest", ApplyManifest, Applied, 2 * _M, 20 * _S)
CHECK_PLACEMENT = Call("check_placement", CheckPlacement, Placement, 60 * _S, 20 * _S)
READ_POOL = Call("read_pool", ReadPool, PoolLookup, 20 * _S)

WATCH_POOL = Call("watch_pool", WatchPool, PoolObservation, 32 * _M, 15 * _S)
SYNC_NODES = Call("sync_nodes", SyncNodes, Synced, 2 * _M, 20 * _S, mutates=True)
COUNT_PODS = Call("count_pods", CountPods, PodCount, 15 * _S)
FIND_ENDED = Call("find_ended", FindEnded, Ended, 30 * _S)
ENSURE_KEY = Call("ensure_key", EnsureKey, KeySeen, 90 * _S, 20 * _S)
REMOVE_KEYS = Call("remove_keys", RemoveKeys, Nothing, 90 * _S, 20 * _S)
AUDIT_POOL = Call("audit_pool", AuditPool, Leftovers, 2 * _M, 20 * _S)

WATCH_CLUSTER = Call("watch_cluster", WatchCluster, ClusterSeen, 32 * _M, 15 * _S)
