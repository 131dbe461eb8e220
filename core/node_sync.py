"""Three-way reconciliation of a node's labels and taints: what is wanted, what we put there, what is there now.

Only keys that we own are ever changed or removed. What we own is written on the node itself, in annotations,
so that a removal is known also after a restart and to any worker. A node that has no such annotation yet was
registered with the spec of that moment; what is wanted and present is then taken as ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from core.labels import Taint
from core.node_keys import OWNED_LABELS, OWNED_TAINTS


@dataclass(frozen=True)
class LiveNode:
    """A node's labels, annotations and taints as they are. Taints as (key, value, effect)."""

    labels: dict[str, str]
    annotations: dict[str, str]
    taints: tuple[tuple[str, str, str], ...]
    unschedulable: bool = False


@dataclass(frozen=True)
class NodeChange:
    """What to write. None removes a label; `taints` is the whole list to write, None where it stays.

    `dropped` are annotations to remove; `unschedulable` None leaves a cordon as it is.
    """

    labels: dict[str, str | None] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    taints: tuple[tuple[str, str, str], ...] | None = None
    summary: str = ""
    dropped: tuple[str, ...] = ()
    unschedulable: bool | None = None


def change_for(node: LiveNode, labels: dict[str, str], taints: list[Taint]) -> NodeChange | None:
    """The change that brings `node` into step with the wanted labels and taints; None where it is."""
    label_changes = _labels(node, labels)
    wanted_taints = _taints(node, taints)
    annotations = {OWNED_LABELS: ",".join(sorted(labels)), OWNED_TAINTS: ",".join(sorted(t.identity for t in taints))}
    stale = {key: value for key, value in annotations.items() if node.annotations.get(key, "") != value}
    if not label_changes and wanted_taints is None and not stale:
        return None
    return NodeChange(label_changes, stale, wanted_taints, _summary(label_changes, node.taints, wanted_taints))


def in_step(node: LiveNode, labels: dict[str, str], taints: list[Taint]) -> bool:
    """Whether nothing has to be written."""
    return change_for(node, labels, taints) is None


def _labels(node: LiveNode, wanted: dict[str, str]) -> dict[str, str | None]:
    changes: dict[str, str | None] = {key: value for key, value in wanted.items() if node.labels.get(key) != value}
    for key in _owned(node, OWNED_LABELS):
        if key not in wanted and key in node.labels:
            changes[key] = None
    return changes


def _taints(node: LiveNode, wanted: list[Taint]) -> tuple[tuple[str, str, str], ...] | None:
    """The node's whole list of taints as it should be, or None where it already is."""
    ours = set(_owned(node, OWNED_TAINTS)) | {taint.identity for taint in wanted}
    others = [taint for taint in node.taints if f"{taint[0]}:{taint[2]}" not in ours]
    target = others + [(taint.key, taint.value, taint.effect.value) for taint in wanted]
    return None if set(target) == set(node.taints) else tuple(target)


def _owned(node: LiveNode, annotation: str) -> list[str]:
    return [key for key in node.annotations.get(annotation, "").split(",") if key]


def _summary(
    labels: dict[str, str | None],
    before: tuple[tuple[str, str, str], ...],
    after: tuple[tuple[str, str, str], ...] | None,
) -> str:
    parts = [f"label {key}={value}" if value is not None else f"label {key} removed" for key, value in labels.items()]
    if after is not None:
        parts += [f"taint {key}:{effect} set" for key, value, effect in after if (key, value, effect) not in before]
        kept = {(key, effect) for key, _, effect in after}
        parts += [f"taint {key}:{effect} removed" for key, _, effect in before if (key, effect) not in kept]
    return ", ".join(parts)
