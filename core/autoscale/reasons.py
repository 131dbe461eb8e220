"""The closed lists of reasons. Names are Cluster Autoscaler's and the scheduler's where those have one."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """A reason that says what it means."""

    meaning: str

    def __new__(cls, value: str, meaning: str) -> Reason:
        """A member whose value is the name that is shown."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member


class FitReason(Reason):
    """Why a pod does not fit a node."""

    CORDONED = "Unschedulable", "the node is cordoned, not ready or about to go"
    TAINT = "UntoleratedTaint", "the pod does not tolerate a taint of the node"
    AFFINITY = "NodeAffinityMismatch", "the node is not one that the pod's selector or required affinity asks for"
    VOLUME = "VolumeNodeAffinityConflict", "a volume of the pod cannot be attached there"
    RESOURCE = "InsufficientResource", "the node has not enough of a resource left"
    PORT = "HostPortTaken", "a host port that the pod needs is taken"
    SPREAD = "TopologySpread", "a hostname topology spread would be broken"
    ANTI_AFFINITY = "AntiAffinity", "a required hostname anti-affinity would be broken"


class PoolReason(Reason):
    """Why a pool gets no servers whatever the pods ask for."""

    PAUSED = "Paused", "the pool is paused"
    FROZEN = "CredentialInvalid", "the cloud refuses the pool's token"
    IN_BACKOFF = "InBackoff", "the pool's last create failed and its pause is not over"
    MAX_SIZE = "MaxSizeReached", "the pool has as many servers as its max"


class PodReason(Reason):
    """What is done about a pod that waits."""

    TRIGGERED = "TriggeredScaleUp", "a server is added that holds the pod"
    FITS_EXISTING = "FitsExistingNode", "a node has room: the scheduler will place the pod there"
    FITS_UPCOMING = "FitsUpcomingNode", "a server on its way to become a node will hold the pod"
    NOMINATED = "Nominated", "the scheduler is making room on a node by preemption"
    EXPENDABLE = "Expendable", "the pod's priority is below the cutoff: no server is bought for it"
    DAEMON = "DaemonSetPod", "the pod belongs to its node: another node does not help it"
    UNSUPPORTED = "Unsupported", "the pod has a rule that cannot be evaluated, so nothing is done for it"
    PAUSED = "PoolPaused", "each pool that would hold the pod is paused, frozen, in backoff or full"
    FROZEN = "PoolFrozen", "each pool that would hold the pod has an invalid credential, is in backoff or full"
    IN_BACKOFF = "PoolInBackoff", "each pool that would hold the pod is in backoff or full"
    MAX_SIZE = "PoolMaxSizeReached", "each pool that would hold the pod is full"
    NO_POOL = "NoPoolFits", "no pool has nodes that would hold the pod"
    UNHEALTHY = "ClusterUnhealthy", "too many nodes are not ready to decide anything"


class BlockingReason(Reason):
    """Why a pod keeps its node."""

    CONTROLLER_NOT_FOUND = "ControllerNotFound", "the controller that would make the pod again is gone"
    MIN_REPLICAS = "MinReplicasReached", "its controller has fewer replicas than may be moved"
    NOT_REPLICATED = "NotReplicated", "nothing would make the pod again"
    LOCAL_STORAGE = "LocalStorageRequested", "the pod has data on the node, which would be lost"
    NOT_SAFE = "NotSafeToEvictAnnotation", "the pod's annotation says that it must not be evicted"
    KUBE_SYSTEM = "UnmovableKubeSystemPod", "a young pod of kube-system without a disruption budget"
    PDB = "NotEnoughPdb", "a disruption budget allows no disruption now"


class NodeReason(Reason):
    """Why a node stays, or goes."""

    REMOVED_EMPTY = "ScaleDownEmpty", "the node goes: it holds nothing that must move"
    REMOVED_DRAINED = "ScaleDown", "the node goes: its pods have room elsewhere"
    BEING_DELETED = "CurrentlyBeingDeleted", "the node's removal is under way"
    DISABLED = "ScaleDownDisabledAnnotation", "an annotation on the node forbids it"
    PAUSED = "PoolPaused", "the pool is paused"
    FROZEN = "PoolFrozen", "the cloud refuses the pool's token, so no server can be deleted"
    IN_OPERATION = "InOperation", "an operation of the pool works on the node"
    NOT_READY = "NotReady", "the node is not ready: that is a case for repair"
    MIN_SIZE = "NodeGroupMinSizeReached", "the pool has no more servers than its min"
    CORDONED = "CordonedByUser", "somebody cordoned the node and it is not empty"
    NOT_UNDERUTILIZED = "NotUnderutilized", "the node is used enough"
    BLOCKED = "BlockedByPod", "a pod on the node must not be moved"
    UNSUPPORTED = "Unsupported", "a pod on the node has a rule that cannot be evaluated"
    NO_PLACE = "NoPlaceToMovePods", "a pod of the node fits no other node that stays"
    NOT_LONG_ENOUGH = "NotUnneededLongEnough", "the node is unneeded, but not yet for long enough"
    IN_COOLDOWN = "ScaleDownInCooldown", "the node is unneeded, but something changed a short time ago"
    UNHEALTHY = "ClusterUnhealthy", "too many nodes are not ready to decide anything"
    WAITS_ITS_TURN = "NodeGroupMaxDeletionCountReached", "the node is unneeded, and others go first"
