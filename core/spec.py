"""What a user asks of a pool: the spec, its rules, and how one spec differs from another."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from core.durations import spelled
from core.errors import FieldRefused
from core.labels import Taint, check_labels, check_taints
from core.names import check_name, check_pool_name

POOL_MAX = 1000  # servers; a bound on typing errors, far above the project limits seen in the field
FIXED_FIELDS = ("credential", "location", "server_type")
SCALE_DOWN_AFTER = timedelta(minutes=10)
SCALE_DOWN_THRESHOLD = 0.5
SCALE_DOWN_AFTER_MAX = timedelta(days=7)  # a daily or weekly lull fits in; beyond it a pool just does not shrink

Value = TypeVar("Value")


class PoolSpec(BaseModel):
    """A pool as asked for. Sizes are counts of servers; `initial` seeds the size once, at create.

    A node whose pods ask for less than `scale_down_threshold` of its cpu and of its memory, and have room elsewhere,
    goes when that has been so for `scale_down_after`. Both defaults are Cluster Autoscaler's. After 0 a node goes with
    the next decision; below a threshold of 0 there is no node, so none goes.
    """

    model_config = ConfigDict(frozen=True)

    organization: str
    cluster: str
    name: str
    credential: str
    location: str
    server_type: str
    min: int
    max: int
    initial: int | None = None
    labels: dict[str, str] = {}
    taints: list[Taint] = []
    paused: bool = False
    scale_down_after: timedelta = SCALE_DOWN_AFTER
    scale_down_threshold: float = SCALE_DOWN_THRESHOLD

    @property
    def first_size(self) -> int:
        """The size that the pool starts with."""
        return self.min if self.initial is None else self.initial

    def within_bounds(self, size: int) -> int:
        """`size`, moved into the pool's floor and ceiling."""
        return max(self.min, min(self.max, size))


class PoolPatch(BaseModel):
    """A change of a pool's mutable fields; what is None stays. Labels and taints are given by key.

    A label whose value is None is removed; `remove_taints` holds taint identities (`key:Effect`).
    """

    model_config = ConfigDict(extra="forbid")

    min: int | None = None
    max: int | None = None
    labels: dict[str, str | None] = {}
    taints: list[Taint] = []
    remove_taints: list[str] = []
    paused: bool | None = None
    scale_down_after: timedelta | None = None
    scale_down_threshold: float | None = None


def check_spec(spec: PoolSpec) -> None:
    """Refuse a spec that breaks a rule that needs no look at the world. Raises FieldRefused."""
    check_name("organization", spec.organization)
    check_name("cluster", spec.cluster)
    check_pool_name(spec.cluster, spec.name)
    check_name("--credential", spec.credential)
    check_name("--location", spec.location)
    check_name("--server-type", spec.server_type)
    check_bounds(spec)
    check_scale_down(spec)
    check_labels(spec.labels)
    check_taints(spec.taints)


def check_bounds(spec: PoolSpec) -> None:
    """Refuse a floor, ceiling or initial size that contradict each other. Raises FieldRefused."""
    for field, value in (("--min", spec.min), ("--max", spec.max)):
        if value < 0:
            raise FieldRefused(field, f"{value} is negative", hint=f"give {field} 0 or more")
        if value > POOL_MAX:
            raise FieldRefused(field, f"{value} is above {POOL_MAX}", hint="split the load over several pools")
    if spec.max < 1:
        raise FieldRefused("--max", "0 leaves no room for any node", hint="give --max 1 or more, or pause the pool")
    if spec.min > spec.max:
        raise FieldRefused(
            "--min",
            f"{spec.min} is above --max {spec.max}",
            hint="lower --min or raise --max in the same command",
        )
    if spec.initial is not None and not spec.min <= spec.initial <= spec.max:
        raise FieldRefused(
            "--initial",
            f"{spec.initial} is outside --min {spec.min} and --max {spec.max}",
            hint="give a size inside the bounds, or leave --initial out to start at --min",
        )


def check_scale_down(spec: PoolSpec) -> None:
    """Refuse a wait below 0 or above a week, and a threshold that is no share. Raises FieldRefused."""
    after, threshold = spec.scale_down_after, spec.scale_down_threshold
    if after < timedelta(0):
        raise FieldRefused(
            "--scale-down-after", f"{spelled(after)} is negative", hint="give 0s to remove nodes with the next decision"
        )
    if after > SCALE_DOWN_AFTER_MAX:
        raise FieldRefused(
            "--scale-down-after",
            f"{spelled(after)} is above {spelled(SCALE_DOWN_AFTER_MAX)}",
            hint="give less, or keep all nodes with --scale-down-threshold 0",
        )
    if not 0 <= threshold <= 1:  # so that what is no number is refused, too
        raise FieldRefused(
            "--scale-down-threshold",
            f"{threshold:g} is not between 0 and 1",
            hint="give a share such as 0.5: nodes of which less is asked for may go",
        )


def check_size(spec: PoolSpec, size: int) -> None:
    """Refuse a `scale` to a size outside the bounds. Raises FieldRefused."""
    if not spec.min <= size <= spec.max:
        raise FieldRefused(
            "size",
            f"{size} is outside the pool's bounds: --min {spec.min}, --max {spec.max}",
            hint=f"choose a size inside them, or move a bound first: lbr cp pool update {spec.cluster} {spec.name}",
        )


def patched(spec: PoolSpec, patch: PoolPatch) -> PoolSpec:
    """`spec` with `patch` applied and checked. Raises FieldRefused; nothing is changed then."""
    labels = {**spec.labels, **{k: v for k, v in patch.labels.items() if v is not None}}
    labels = {k: v for k, v in labels.items() if patch.labels.get(k, v) is not None}
    replaced = {taint.identity for taint in patch.taints} | set(patch.remove_taints)
    taints = [taint for taint in spec.taints if taint.identity not in replaced] + patch.taints
    changed = spec.model_copy(
        update={
            "min": _chosen(patch.min, spec.min),
            "max": _chosen(patch.max, spec.max),
            # The seed size has had its effect; keeping it would pin the bounds to it.
            "initial": None,
            "labels": dict(sorted(labels.items())),
            "taints": sorted(taints, key=lambda taint: taint.identity),
            "paused": _chosen(patch.paused, spec.paused),
            "scale_down_after": _chosen(patch.scale_down_after, spec.scale_down_after),
            "scale_down_threshold": _chosen(patch.scale_down_threshold, spec.scale_down_threshold),
        }
    )
    check_bounds(changed)
    check_scale_down(changed)
    check_labels(changed.labels)
    check_taints(changed.taints)
    return changed


def differences(old: PoolSpec, new: PoolSpec) -> list[str]:
    """What `new` asks for that `old` does not have, one `field: old -> new` a line.

    `initial` and `paused` are left out: the first acted once, the second is an operation of its own.
    """
    lines = []
    for field in (*FIXED_FIELDS, "min", "max", "scale_down_after", "scale_down_threshold"):
        before, after = getattr(old, field), getattr(new, field)
        if before != after:
            fixed = " (fixed)" if field in FIXED_FIELDS else ""
            lines.append(f"{field}: {_worded(before)} -> {_worded(after)}{fixed}")
    if old.labels != new.labels:
        lines.append(f"labels: {_labels(old)} -> {_labels(new)}")
    if set(old.taints) != set(new.taints):
        lines.append(f"taints: {_taints(old)} -> {_taints(new)}")
    return lines


def _chosen(asked: Value | None, present: Value) -> Value:
    return present if asked is None else asked


def _worded(value: object) -> object:
    return spelled(value) if isinstance(value, timedelta) else value


def _labels(spec: PoolSpec) -> str:
    return ",".join(f"{k}={v}" for k, v in sorted(spec.labels.items())) or "none"


def _taints(spec: PoolSpec) -> str:
    return ",".join(sorted(str(taint) for taint in spec.taints)) or "none"
