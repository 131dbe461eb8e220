"""The brake: while much of a cluster is not ready, nothing that is seen of it is a ground to buy or to remove.

Source: Cluster Autoscaler's ok-total-unready-count and max-total-unready-percentage, which stop it altogether.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from core.autoscale.cluster import Cluster
from core.autoscale.nodes import Node
from core.autoscale.reasons import NodeReason, PodReason
from core.autoscale.verdicts import NodeVerdict, PodVerdict
from core.autoscale.words import counted


def unhealthy(cluster: Cluster, now: datetime) -> str:
    """Why nothing is decided, with the arithmetic; '' in a cluster that is well. Young nodes may be still starting."""
    options, nodes = cluster.options, cluster.nodes
    unready = sum(not node.ready and not _starting(node, cluster, now) for node in nodes)
    if unready <= options.ok_unready or unready <= options.max_unready_share * len(nodes):
        return ""
    limit = f"above {options.ok_unready} and {options.max_unready_share:.0%} nothing is added or removed"
    return f"{counted(unready, 'node')} of {len(nodes)} are not ready: {limit}"


def pods_held(cluster: Cluster, why: str) -> tuple[PodVerdict, ...]:
    """What is said of the pods that wait meanwhile."""
    waiting = sorted(pod.key for pod in cluster.pods if pod.unschedulable and not (pod.node or pod.deleted))
    return tuple(PodVerdict(key, PodReason.UNHEALTHY, why) for key in waiting)


def nodes_held(cluster: Cluster, why: str) -> tuple[NodeVerdict, ...]:
    """What is said of the pools' nodes meanwhile."""
    pools = {pool.spec.name for pool in cluster.pools}
    ours: Iterable[Node] = sorted((node for node in cluster.nodes if node.pool in pools), key=lambda node: node.name)
    return tuple(NodeVerdict(node.name, node.pool, NodeReason.UNHEALTHY, why) for node in ours)


def _starting(node: Node, cluster: Cluster, now: datetime) -> bool:
    return node.created is not None and now < node.created + cluster.options.startup
