"""The rules for nodes: taints are unique by key and effect, a provider id is set once."""

from collections.abc import Iterator

from sandbox.kubernetes.errors import Cause
from sandbox.kubernetes.objects import Obj
from sandbox.kubernetes.strategy import Creation, Strategy
from sandbox.kubernetes.validation import (
    duplicate,
    is_label_key,
    is_label_value,
    refused,
    required,
    unsupported,
    wrong,
)

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
NOT_READY = "node.kubernetes.io/not-ready"


def _default(node: Obj) -> None:
    spec = node.setdefault("spec", {})
    if not spec.get("unschedulable"):
        spec.pop("unschedulable", None)
    if not spec.get("taints"):
        spec.pop("taints", None)
    status = node.setdefault("status", {})
    if "allocatable" not in status and "capacity" in status:
        status["allocatable"] = dict(status["capacity"])


def _create(node: Obj, creation: Creation) -> None:
    """The kubelet sends its status along; admission taints every new node until it is Ready."""
    del creation
    taints: list[Obj] = node["spec"].setdefault("taints", [])
    if not any(taint.get("key") == NOT_READY and taint.get("effect") == "NoSchedule" for taint in taints):
        taints.append({"key": NOT_READY, "effect": "NoSchedule"})


def _validate(new: Obj, old: Obj | None) -> Iterator[Cause]:
    yield from _taint_causes(new["spec"].get("taints") or [])
    if old is None:
        return
    for field in ("providerID", "podCIDR"):
        before = old["spec"].get(field)
        if before and new["spec"].get(field) != before:
            yield refused(f"spec.{field}", f'node updates may not change {field} except from "" to valid')


def _taint_causes(taints: list[Obj]) -> Iterator[Cause]:
    seen = set()
    for index, taint in enumerate(taints):
        field = f"spec.taints[{index}]"
        key, effect = taint.get("key", ""), taint.get("effect", "")
        if not is_label_key(key):
            yield wrong(f"{field}.key", key, "name part must be non-empty") if key else required(f"{field}.key")
        if not is_label_value(taint.get("value", "")):
            yield wrong(f"{field}.value", taint["value"], "a valid label must be an empty string or consist of …")
        if not effect:
            yield required(f"{field}.effect")
        elif effect not in EFFECTS:
            yield unsupported(f"{field}.effect", effect, EFFECTS)
        if (key, effect) in seen:
            yield duplicate(field, {k: taint[k] for k in ("key", "value", "effect") if k in taint})
        seen.add((key, effect))


STRATEGY = Strategy(_default, _create, _validate)
