"""What an operation does to a node that is to go, and how just that is undone.

The cordon, the label that takes it out of load balancers, and for the autoscaler the taint. Each is put there only
where it is not there yet, and what was put there is written on the node, so that the undoing is known also after a
restart and to any worker. What somebody else had put there before, or changed since, stays. An operation takes over
what an earlier one left behind.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.labels import Effect
from core.node_keys import ADDED_WITH_CORDON, CORDONED_BY, NO_LOAD_BALANCER, TO_BE_DELETED
from core.node_sync import LiveNode, NodeChange

_LABEL, _TAINT, _OUT = "label", "taint=", "true"
_IDENTITY = (TO_BE_DELETED, Effect.NO_SCHEDULE.value)


@dataclass(frozen=True)
class _Added:
    """Beside the cordon: the operation, whether it set the label, and the value of its taint ('' for none)."""

    operation: str = ""
    label: bool = False
    taint: str = ""

    @classmethod
    def on(cls, node: LiveNode) -> _Added:
        """What is still there as it was added."""
        operation, *parts = node.annotations.get(ADDED_WITH_CORDON, "").split(" ")
        values = {part.removeprefix(_TAINT) for part in parts if part.startswith(_TAINT)}
        taint = next((value for value in values if value == _taint_on(node)), "")
        return cls(operation, _LABEL in parts and node.labels.get(NO_LOAD_BALANCER) == _OUT, taint)

    def __str__(self) -> str:
        parts = [_LABEL] * self.label + [f"{_TAINT}{self.taint}"] * bool(self.taint)
        return " ".join((self.operation, *parts)) if parts else ""


def cordon(node: LiveNode, operation_id: str, taint: str = "") -> NodeChange | None:
    """The change that cordons for an operation, and taints with the value `taint` if any; None where all is done."""
    known = _Added.on(node)
    with_label, with_taint = NO_LOAD_BALANCER not in node.labels, bool(taint) and _taint_on(node) is None
    added = _Added(operation_id, with_label or known.label, taint if with_taint else known.taint)
    marks = {ADDED_WITH_CORDON: str(added)}
    if not node.unschedulable or CORDONED_BY in node.annotations:
        marks[CORDONED_BY] = operation_id
    annotations = {key: text for key, text in marks.items() if text != node.annotations.get(key, "")}
    if node.unschedulable and not (with_label or with_taint or annotations):
        return None
    return NodeChange(
        labels={NO_LOAD_BALANCER: _OUT} if with_label else {},
        annotations={key: text for key, text in annotations.items() if text},
        taints=(*node.taints, (TO_BE_DELETED, added.taint, Effect.NO_SCHEDULE.value)) if with_taint else None,
        dropped=tuple(key for key, text in annotations.items() if not text),
        unschedulable=True,
    )


def uncordon(node: LiveNode, operation_id: str) -> NodeChange | None:
    """The change that undoes what `cordon` did for the same operation; None where nothing of it is left."""
    added = _Added.on(node)
    ours = added if added.operation == operation_id else _Added()
    cordoned = node.annotations.get(CORDONED_BY) == operation_id
    dropped = [CORDONED_BY] * cordoned + [ADDED_WITH_CORDON] * (added.operation == operation_id)
    if not dropped:
        return None
    undone = ["uncordoned"] * (cordoned and node.unschedulable)
    undone += [f"label {NO_LOAD_BALANCER} removed"] * ours.label
    undone += [f"taint {TO_BE_DELETED} removed"] * bool(ours.taint)
    return NodeChange(
        labels={NO_LOAD_BALANCER: None} if ours.label else {},
        taints=tuple(taint for taint in node.taints if not _is_it(taint)) if ours.taint else None,
        summary=", ".join(undone),
        dropped=tuple(dropped),
        unschedulable=False if cordoned else None,
    )


def _taint_on(node: LiveNode) -> str | None:
    return next((taint[1] for taint in node.taints if _is_it(taint)), None)


def _is_it(taint: tuple[str, str, str]) -> bool:
    return (taint[0], taint[2]) == _IDENTITY
