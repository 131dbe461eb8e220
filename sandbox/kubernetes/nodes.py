"""The rules for nodes: taints are unique by key and effect, a provider id is set once."""

from collections.abc import Iterator

from sandbox.kubernetes.errors import Cause
from sandbox.kubernetes.names import label_key_faults, label_value_faults
from sandbox.kubernetes.objects import Obj
from sandbox.kubernetes.strategy import Creation, Strategy
from sandbox.kubernetes.validation import duplicate, faulty, refused, required, unsupported

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
NOT_READY = "node.kubernetes.io/not-ready"
# What a kubelet says of itself. The API has no absent values here, only empty ones.
_INFO = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)


def _default(node: Obj) -> None:
    spec = node.setdefault("spec", {})
    if not spec.get("unschedulable"):
        spec.pop("unschedulable", None)
    if not spec.get("taints"):
        spec.pop("taints", None)


def _default_status(node: Obj) -> None:
    status = node.setdefault("status", {})
    if "allocatable" not in status and "capacity" in status:
        status["allocatable"] = dict(status["capacity"])
    status.setdefault("daemonEndpoints", {}).setdefault("kubeletEndpoint", {}).setdefault("Port", 0)
    status["nodeInfo"] = dict.fromkeys(_INFO, "") | status.get("nodeInfo", {})


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
        field = f"metadata.taints[{index}]"  # the server's own word for the place, though they are in the spec
        key, value, effect = (taint.get(name, "") for name in ("key", "value", "effect"))
        yield from faulty(f"{field}.key", key, label_key_faults(key))
        yield from faulty(f"{field}.value", value, label_value_faults(value))
        if not effect:
            yield required(f"{field}.effect")
        elif effect not in EFFECTS:
            yield unsupported(f"{field}.effect", effect, EFFECTS)
        if (key, effect) in seen:
            shown = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": taint.get("timeAdded")}
            yield duplicate(field, shown, "taints must be unique by key and effect pair")
        seen.add((key, effect))


STRATEGY = Strategy(_default, _create, _validate, default_status=_default_status)
