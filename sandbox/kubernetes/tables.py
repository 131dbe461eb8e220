"""Server-side tables, which `kubectl get` prints."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sandbox.kubernetes import kinds
from sandbox.kubernetes.ages import age
from sandbox.kubernetes.kinds import Kind
from sandbox.kubernetes.objects import Obj, condition, is_deleting, is_true, labels_of, name_of

Column = tuple[str, int, Callable[[Obj], object]]  # heading, priority (1: only with -o wide), value
_ROLE = "node-role.kubernetes.io/"


def _count(path: str) -> Callable[[Obj], object]:
    return lambda obj: obj.get("status", {}).get(path, 0)


def _node_status(node: Obj) -> str:
    ready = condition(node, "Ready")
    status = "Ready" if ready and ready["status"] == "True" else "NotReady"
    if ready is None or ready["status"] == "Unknown":
        status = "Unknown" if ready is None else "NotReady"
    return status + (",SchedulingDisabled" if node["spec"].get("unschedulable") else "")


def _roles(node: Obj) -> str:
    roles = [key.removeprefix(_ROLE) for key in labels_of(node) if key.startswith(_ROLE)]
    return ",".join(sorted(roles)) or "<none>"


def _info(field: str) -> Callable[[Obj], object]:
    return lambda node: node.get("status", {}).get("nodeInfo", {}).get(field, "")


def _address(kind: str) -> Callable[[Obj], object]:
    def find(node: Obj) -> str:
        addresses = node.get("status", {}).get("addresses") or ()
        return next((a["address"] for a in addresses if a["type"] == kind), "<none>")

    return find


def _ready_containers(pod: Obj) -> str:
    ready = sum(bool(c.get("ready")) for c in pod["status"].get("containerStatuses") or ())
    return f"{ready}/{len(pod['spec']['containers'])}"


def _pod_status(pod: Obj) -> str:
    if is_deleting(pod):
        return "Terminating"
    phase = pod["status"].get("phase", "Unknown")
    names = {"Succeeded": "Completed", "Failed": pod["status"].get("reason", "Error")}
    return str(names.get(phase, phase))


def _gates(pod: Obj) -> str:
    return "<none>" if not pod["spec"].get("readinessGates") else str(len(pod["spec"]["readinessGates"]))


def _request_condition(request: Obj) -> str:
    parts = [name for name in ("Approved", "Denied", "Failed") if is_true(request, name)]
    issued = ["Issued"] if request["status"].get("certificate") else []
    return ",".join(parts + issued) or "Pending"


def _involved(event: Obj) -> str:
    about = event.get("involvedObject") or {}
    return f"{about.get('kind', '').lower()}/{about.get('name', '')}"


@dataclass(frozen=True)
class Moment:
    """A time in a table; its cell says how long ago that was."""

    stamp: str | None


def _created(obj: Obj) -> Moment:
    return Moment(obj["metadata"]["creationTimestamp"])


def _last_seen(event: Obj) -> Moment:
    return Moment(event.get("lastTimestamp") or event.get("eventTime"))


_NAME: Column = ("Name", 0, name_of)
_AGE: Column = ("Age", 0, _created)

COLUMNS: dict[Kind, list[Column]] = {
    kinds.NODES: [
        _NAME,
        ("Status", 0, _node_status),
        ("Roles", 0, _roles),
        _AGE,
        ("Version", 0, _info("kubeletVersion")),
        ("Internal-IP", 1, _address("InternalIP")),
        ("External-IP", 1, _address("ExternalIP")),
        ("OS-Image", 1, _info("osImage")),
        ("Kernel-Version", 1, _info("kernelVersion")),
        ("Container-Runtime", 1, _info("containerRuntimeVersion")),
    ],
    kinds.PODS: [
        _NAME,
        ("Ready", 0, _ready_containers),
        ("Status", 0, _pod_status),
        ("Restarts", 0, lambda pod: "0"),
        _AGE,
        ("IP", 1, lambda pod: pod["status"].get("podIP") or "<none>"),
        ("Node", 1, lambda pod: pod["spec"].get("nodeName") or "<none>"),
        ("Nominated Node", 1, lambda pod: pod["status"].get("nominatedNodeName") or "<none>"),
        ("Readiness Gates", 1, _gates),
    ],
    kinds.DEPLOYMENTS: [
        _NAME,
        ("Ready", 0, lambda d: f"{d['status'].get('readyReplicas', 0)}/{d['spec']['replicas']}"),
        ("Up-to-date", 0, _count("updatedReplicas")),
        ("Available", 0, _count("availableReplicas")),
        _AGE,
    ],
    kinds.REPLICA_SETS: [
        _NAME,
        ("Desired", 0, lambda rs: rs["spec"]["replicas"]),
        ("Current", 0, _count("replicas")),
        ("Ready", 0, _count("readyReplicas")),
        _AGE,
    ],
    kinds.DAEMON_SETS: [
        _NAME,
        ("Desired", 0, _count("desiredNumberScheduled")),
        ("Current", 0, _count("currentNumberScheduled")),
        ("Ready", 0, _count("numberReady")),
        ("Up-to-date", 0, _count("updatedNumberScheduled")),
        ("Available", 0, _count("numberAvailable")),
        _AGE,
    ],
    kinds.JOBS: [
        _NAME,
        ("Status", 0, lambda job: "Complete" if is_true(job, "Complete") else "Running"),
        ("Completions", 0, lambda j: f"{j['status'].get('succeeded', 0)}/{j['spec'].get('completions', 1)}"),
        _AGE,
    ],
    kinds.BUDGETS: [
        _NAME,
        ("Min Available", 0, lambda b: b["spec"].get("minAvailable", "N/A")),
        ("Max Unavailable", 0, lambda b: b["spec"].get("maxUnavailable", "N/A")),
        ("Allowed Disruptions", 0, _count("disruptionsAllowed")),
        _AGE,
    ],
    kinds.NAMESPACES: [_NAME, ("Status", 0, lambda n: n["status"].get("phase", "")), _AGE],
    kinds.SECRETS: [
        _NAME,
        ("Type", 0, lambda s: s.get("type", "")),
        ("Data", 0, lambda s: len(s.get("data") or {})),
        _AGE,
    ],
    kinds.LEASES: [_NAME, ("Holder", 0, lambda lease: (lease.get("spec") or {}).get("holderIdentity", "")), _AGE],
    kinds.SIGNING_REQUESTS: [
        _NAME,
        _AGE,
        ("SignerName", 0, lambda r: r["spec"]["signerName"]),
        ("Requestor", 0, lambda r: r["spec"]["username"]),
        ("Condition", 0, _request_condition),
    ],
    kinds.EVENTS: [
        ("Last Seen", 0, _last_seen),
        ("Type", 0, lambda e: e.get("type", "")),
        ("Reason", 0, lambda e: e.get("reason", "")),
        ("Object", 0, _involved),
        ("Message", 0, lambda e: e.get("message", "")),
    ],
}


def columns(kind: Kind) -> list[Obj]:
    """The column definitions of a kind's table."""
    return [_definition(heading, priority) for heading, priority, _ in COLUMNS[kind]]


def _definition(heading: str, priority: int) -> Obj:
    form = "name" if heading == "Name" else ""
    return {"name": heading, "type": "string", "format": form, "description": heading, "priority": priority}


def row(kind: Kind, obj: Obj, now: datetime) -> Obj:
    """One table row, with the object's metadata as kubectl needs it for labels and namespaces."""
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
    cells = [value(obj) for _, _, value in COLUMNS[kind]]
    return {"cells": [age(c.stamp, now) if isinstance(c, Moment) else c for c in cells], "object": partial}
