"""What a decision says, told on the pods and nodes that it is about, where `kubectl describe` shows it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from activities.cluster_view import Parts
from activities.kube_events import EventWriter
from core.autoscale.decide import Decision
from core.autoscale.pods import Pod
from core.autoscale.reasons import PodReason
from core.autoscale.verdicts import PodVerdict
from core.calls import ClusterRef
from core.kube_events import About, AboutKind, EventReason, Told, worth_telling

# Waiting pods that need no server, or that no server helps by its nature, are no news to their users.
_REFUSED = frozenset(
    {
        PodReason.UNSUPPORTED,
        PodReason.PAUSED,
        PodReason.FROZEN,
        PodReason.IN_BACKOFF,
        PodReason.MAX_SIZE,
        PodReason.NO_POOL,
    }
)


class DecisionEvents:
    """Tells each pod once what is done for it, and again only what is new. One for a worker process."""

    def __init__(self, writer: EventWriter) -> None:
        self._writer = writer
        self._refused: dict[tuple[str, str], dict[str, Told]] = {}

    def tell(self, cluster: ClusterRef, decision: Decision, parts: Parts) -> None:
        """Queue the events of a decision, and return at once."""
        now = datetime.now(UTC)
        key = (cluster.organization, cluster.cluster)
        before, after = self._refused.get(key, {}), dict[str, Told]()
        for verdict in decision.pods:
            uid = parts.uids.get(f"pod/{verdict.pod}", "")
            if verdict.reason is PodReason.TRIGGERED:
                self._writer.tell(cluster, _pod(verdict.pod, uid), EventReason.TRIGGERED, _grown(verdict))
            elif verdict.reason in _REFUSED:
                told = before.get(uid)
                if worth_telling(told, verdict.reason, now):
                    message = f"{verdict.reason}: {verdict.message}"
                    self._writer.tell(cluster, _pod(verdict.pod, uid), EventReason.NOT_TRIGGERED, message)
                    told = Told(verdict.reason, now)
                after[uid] = told or Told(verdict.reason, now)
        self._refused[key] = after
        self._tell_removals(cluster, decision, parts)

    def _tell_removals(self, cluster: ClusterRef, decision: Decision, parts: Parts) -> None:
        going = set(decision.removals)
        if not going:
            return
        for verdict in decision.nodes:
            if verdict.node in going:
                about = About(AboutKind.NODE, verdict.node, parts.uids.get(f"node/{verdict.node}", ""))
                self._writer.tell(cluster, about, EventReason.SCALE_DOWN, f"the node is removed: {verdict.message}")
        for pod in _moved(parts.pods, going):
            about = _pod(pod.key, parts.uids.get(f"pod/{pod.key}", ""))
            self._writer.tell(cluster, about, EventReason.SCALE_DOWN, f"the pod moves: node {pod.node} is removed")


def _pod(key: str, uid: str) -> About:
    namespace, _, name = key.partition("/")
    return About(AboutKind.POD, name, uid, namespace)


def _grown(verdict: PodVerdict) -> str:
    return f"pool {verdict.pool}: {verdict.message}"


def _moved(pods: Iterable[Pod], going: set[str]) -> list[Pod]:
    return [pod for pod in pods if pod.node in going and not (pod.daemon or pod.mirror or pod.finished or pod.deleted)]
