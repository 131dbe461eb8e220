"""The contract of the calls that bring one machine up and take it down again."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import BaseModel

from core.calls import Call, ClusterRef, Nothing, Owner, ProjectRef, ServerType
from core.labels import Taint
from core.machine import Presence

# --- one machine: provision -------------------------------------------------------------------------------


class EnsureToken(BaseModel):
    """Have a bootstrap token for one machine. Doing it twice gives the same token."""

    cluster: ClusterRef
    pool_id: str
    machine: str
    operation_id: str
    ttl_s: float


class TokenIssued(BaseModel):
    """The token's public half and when it expires."""

    token_id: str
    expires_at: datetime


class RevokeToken(BaseModel):
    """Delete a machine's bootstrap token. Absent is success."""

    cluster: ClusterRef
    operation_id: str


class CreateServer(BaseModel):
    """Create the machine's server, or adopt the one that an earlier attempt made."""

    project: ProjectRef
    cluster: ClusterRef
    owner: Owner
    pool: str
    machine: str
    location: str
    server_type: str
    ssh_key_id: int
    labels: dict[str, str]
    taints: list[Taint]
    server: ServerType | None = None


class ServerSeen(BaseModel):
    """The server that exists now, and the actions to wait for."""

    server_id: int
    action_ids: list[int]
    ipv4: str
    seen_at: datetime
    adopted: bool = False


class AwaitServer(BaseModel):
    """Wait until the server's actions ended and it runs."""

    project: ProjectRef
    server_id: int
    action_ids: list[int]


class AwaitNode(BaseModel):
    """Wait until what is known of the machine's node changed. Matches by provider id, then by name."""

    cluster: ClusterRef
    machine: str
    server_id: int
    known_digest: str = ""


class NodeSeen(BaseModel):
    """A node on its way. `ready`: Ready=True and no initialization taint; else `waiting_for` says what is missing."""

    presence: Presence
    uid: str | None = None
    ready: bool = False
    waiting_for: str = ""
    version: str = ""
    digest: str


# --- one machine: retire ----------------------------------------------------------------------------------


class CordonNode(BaseModel):
    """Cordon a node and mark the cordon as ours; with `taint`, as the autoscaler does with a node that is to go."""

    cluster: ClusterRef
    machine: str
    server_id: int | None
    node_uid: str | None
    operation_id: str
    taint: bool = False


class Cordoned(BaseModel):
    """The node's presence and UID."""

    presence: Presence
    node_uid: str | None = None


class Hold(BaseModel):
    """Why a pod is still there: the pod, the disruption budget if one holds it, and the API's sentence."""

    pod: str
    budget: str = ""
    message: str = ""


class DrainNode(BaseModel):
    """Evict a node's pods. Returns when drained, at `deadline`, or when the holds differ from `known_holds`."""

    cluster: ClusterRef
    machine: str
    node_uid: str
    deadline: datetime
    known_holds: list[Hold] = []


class DrainOutcome(StrEnum):
    """How one drain call ended."""

    DRAINED = "drained"
    HELD = "held"
    TIMED_OUT = "timed-out"
    NODE_GONE = "node-gone"


class DrainResult(BaseModel):
    """Where the drain stands: pods evicted in this call, and what is still held."""

    outcome: DrainOutcome
    evicted: int = 0
    holds: list[Hold] = []


class DeleteServer(BaseModel):
    """Delete the machine's server: by id, or, where its create's answer was lost, by name and our labels."""

    project: ProjectRef
    owner: Owner
    machine: str
    server_id: int | None


class DeleteSent(BaseModel):
    """The server whose delete was accepted, or None where there was none."""

    server_id: int | None


class AwaitServerGone(BaseModel):
    """Wait until GET of the server answers 404."""

    project: ProjectRef
    server_id: int


class ServerGone(BaseModel):
    """When the 404 was seen."""

    seen_at: datetime


class ReapNode(BaseModel):
    """Remove the machine's Node object and what the distribution keeps beside it. Absent is success."""

    cluster: ClusterRef
    machine: str
    server_id: int | None
    node_uid: str | None


class Reaped(BaseModel):
    """Whether there was a Node to remove."""

    removed: bool


_S, _M = timedelta(seconds=1), timedelta(minutes=1)

ENSURE_TOKEN = Call("ensure_token", EnsureToken, TokenIssued, 30 * _S)
REVOKE_TOKEN = Call("revoke_token", RevokeToken, Nothing, 30 * _S)
# The client waits 60 s for the answer of a create; the attempt also holds the look-up before and after it.
CREATE_SERVER = Call("create_server", CreateServer, ServerSeen, 3 * _M, 20 * _S)
AWAIT_SERVER = Call("await_server", AwaitServer, Nothing, 6 * _M, 15 * _S)
AWAIT_NODE = Call("await_node", AwaitNode, NodeSeen, 26 * _M, 15 * _S)

CORDON_NODE = Call("cordon_node", CordonNode, Cordoned, 30 * _S)
DRAIN_NODE = Call("drain_node", DrainNode, DrainResult, 35 * _M, 15 * _S, mutates=True)
DELETE_SERVER = Call("delete_server", DeleteServer, DeleteSent, 2 * _M, 20 * _S)
AWAIT_SERVER_GONE = Call("await_server_gone", AwaitServerGone, ServerGone, 10 * _M, 15 * _S)
REAP_NODE = Call("reap_node", ReapNode, Reaped, 60 * _S, 20 * _S)
