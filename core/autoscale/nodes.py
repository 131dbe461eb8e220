"""A node as far as a decision needs it, read from the API's JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from core.autoscale.quantities import amounts
from core.autoscale.selectors import Labels, mapping, maps, time_of
from core.labels import Effect, Taint
from core.node_keys import CORDONED_BY, POOL

SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"


@dataclass(frozen=True, slots=True)
class Node:
    """A node, or what one will be. `operated` says that an operation of ours, not a person, cordoned it."""

    name: str
    labels: Labels
    allocatable: Mapping[str, int]
    capacity: Mapping[str, int]
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    scale_down_disabled: bool = False
    operated: bool = False
    created: datetime | None = None
    pool: str = field(init=False)

    def __post_init__(self) -> None:
        """The pool is a label's value, read once."""
        object.__setattr__(self, "pool", self.labels.get(POOL, ""))


def read_node(raw: Mapping[str, Any]) -> Node:
    """Read a Node object. A resource whose amount cannot be read counts as absent, so nothing is put there for it."""
    meta, spec, status = mapping(raw.get("metadata")), mapping(raw.get("spec")), mapping(raw.get("status"))
    notes = mapping(meta.get("annotations"))
    taints = [
        Taint(key=str(taint.get("key")), value=str(taint.get("value") or ""), effect=Effect(taint["effect"]))
        for taint in maps(spec.get("taints"))
        if taint.get("effect") in tuple(Effect)
    ]
    return Node(
        name=str(meta.get("name") or ""),
        labels={str(key): str(value) for key, value in mapping(meta.get("labels")).items()},
        allocatable=amounts(status.get("allocatable"))[0],
        capacity=amounts(status.get("capacity"))[0],
        taints=tuple(sorted(taints, key=str)),
        unschedulable=bool(spec.get("unschedulable")),
        ready=any(c.get("type") == "Ready" and c.get("status") == "True" for c in maps(status.get("conditions"))),
        scale_down_disabled=notes.get(SCALE_DOWN_DISABLED) == "true",
        operated=CORDONED_BY in notes,
        created=time_of(meta.get("creationTimestamp")),
    )
