"""An answer for any pod or node: what is decided about it, or why nothing has to be."""

from __future__ import annotations

from core.autoscale.assemble import Assembled
from core.autoscale.decide import Decision
from core.autoscale.nodes import Node
from core.autoscale.pods import Pod
from core.autoscale.verdicts import NodeVerdict, PodVerdict
from core.autoscale_calls import ExplainObject, Explanation, ObjectKind, Verdict

ANSWERED = 200  # verdicts of about 300 bytes each: an answer is far below a payload's 2 MiB, and still read by a person


def explain(ground: Assembled, decision: Decision, about: ExplainObject) -> Explanation:
    """The verdicts on what is asked about; none when there is no such object."""
    decided = [
        *map(_of_pod, decision.pods),
        *map(_not_yet, sorted(ground.starting)),
        *map(_of_node, decision.nodes),
    ]
    found = decided
    if about.kind is not None:
        name = f"{about.namespace}/{about.name}" if about.kind is ObjectKind.POD else about.name
        found = [verdict for verdict in decided if (verdict.kind, verdict.name) == (about.kind, name)]
        found = found or _undecided(ground, about.kind, name)
    unsized = ", ".join(ground.unsized)
    return Explanation(
        verdicts=found[:ANSWERED],
        left_out=max(0, len(found) - ANSWERED),
        note=f"pools whose server type's size is not known take no part: {unsized}" if unsized else "",
    )


def _undecided(ground: Assembled, kind: ObjectKind, name: str) -> list[Verdict]:
    """The verdict on an object that no decision is about, if it exists."""
    if kind is ObjectKind.POD:
        return [_quiet(pod) for pod in ground.cluster.pods if pod.key == name]
    return [_foreign(node) for node in ground.cluster.nodes if node.name == name]


def _quiet(pod: Pod) -> Verdict:
    """A pod that no decision is about."""
    if pod.finished:
        reason, meaning, message = "Finished", "the pod has ended", "it runs no more and waits for nothing"
    elif pod.deleted:
        reason, meaning, message = "Terminating", "the pod is being deleted", "it ends and waits for nothing"
    elif pod.node:
        reason, meaning, message = "Scheduled", "the pod has a node", f"it is on {pod.node}"
    else:
        text = "it has no node, and the scheduler has not said that none fits"
        reason, meaning, message = "NotTriedYet", "the scheduler has not looked at the pod yet", text
    return Verdict(kind=ObjectKind.POD, name=pod.key, node=pod.node, reason=reason, meaning=meaning, message=message)


def _not_yet(name: str) -> Verdict:
    meaning, text = "the node has registered and takes no pods yet", "it counts as a server on its way"
    return Verdict(kind=ObjectKind.NODE, name=name, reason="Starting", meaning=meaning, message=text)


def _foreign(node: Node) -> Verdict:
    if node.pool:
        text = f"its pool {node.pool} takes no part now: it is being deleted, or its server type's size is not known"
    else:
        text = "it is none of a pool's, so it is never removed; its free room counts"
    meaning = "no decision is about the node"
    return Verdict(
        kind=ObjectKind.NODE, name=node.name, pool=node.pool, reason="NotManaged", meaning=meaning, message=text
    )


def _of_pod(verdict: PodVerdict) -> Verdict:
    return Verdict(
        kind=ObjectKind.POD,
        name=verdict.pod,
        pool=verdict.pool,
        node=verdict.node,
        reason=verdict.reason,
        meaning=verdict.reason.meaning,
        message=verdict.message,
    )


def _of_node(verdict: NodeVerdict) -> Verdict:
    return Verdict(
        kind=ObjectKind.NODE,
        name=verdict.node,
        pool=verdict.pool,
        reason=verdict.reason,
        meaning=verdict.reason.meaning,
        message=verdict.message,
    )
