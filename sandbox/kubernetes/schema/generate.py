"""Writes `types.json`: field numbers of the Kubernetes API types, from their published `.proto` files.

Call it as `python -m sandbox.kubernetes.schema.generate FOLDER...` with the folders of the Go modules
`k8s.io/api` and `k8s.io/apimachinery` (v0.36.3 here); numbers never change between versions, only come on top.

A field is `[name, type, how]`, where `how` is "" for one value, "list", "map" (string keys) or "inline": a
message whose fields stand among those of its parent in JSON.
"""

import json
import re
import sys
from pathlib import Path

ROOTS = (
    "core.v1.Namespace",
    "core.v1.Node",
    "core.v1.Pod",
    "core.v1.Binding",
    "core.v1.Secret",
    "core.v1.ConfigMap",
    "core.v1.Service",
    "core.v1.PersistentVolume",
    "core.v1.PersistentVolumeClaim",
    "core.v1.ServiceAccount",
    "core.v1.Event",
    "events.v1.Event",
    "apps.v1.Deployment",
    "apps.v1.ReplicaSet",
    "apps.v1.DaemonSet",
    "autoscaling.v1.Scale",
    "batch.v1.Job",
    "policy.v1.PodDisruptionBudget",
    "policy.v1.Eviction",
    "coordination.v1.Lease",
    "storage.v1.VolumeAttachment",
    "scheduling.v1.PriorityClass",
    "rbac.v1.Role",
    "rbac.v1.RoleBinding",
    "rbac.v1.ClusterRole",
    "rbac.v1.ClusterRoleBinding",
    "authorization.v1.SelfSubjectAccessReview",
    "authentication.v1.SelfSubjectReview",
    "authentication.v1.TokenRequest",
    "certificates.v1.CertificateSigningRequest",
    "meta.v1.DeleteOptions",
)
_INLINE = {"volumeSource", "handler", "localObjectReference", "ephemeralContainerCommon", "persistentVolumeSource"}
_BASE = r"k8s\.io\.(?:api|apimachinery\.pkg\.apis|apimachinery\.pkg)\."
_PACKAGE = re.compile(rf"^package {_BASE}(\S+);", re.M)
_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.M | re.S)
_FIELD = re.compile(r"^\s+(?:(optional|repeated)\s+|)(map<string,\s*[\w.]+>|[\w.]+)\s+(\w+) = (\d+);", re.M)
_PREFIX = re.compile(rf"^\.?{_BASE}")
_SCALARS = {"string", "bytes", "bool", "int32", "int64", "double"}
Schema = dict[str, dict[str, list[str]]]


def read(folders: list[Path]) -> Schema:
    """All messages below the folders."""
    schema: Schema = {}
    for folder in folders:
        for path in sorted(folder.rglob("generated.proto")):
            text = path.read_text()
            package = _PACKAGE.search(text)
            if package:
                for name, body in _MESSAGE.findall(text):
                    schema[f"{package[1]}.{name}"] = _fields(package[1], body)
    return schema


def _fields(package: str, body: str) -> dict[str, list[str]]:
    fields = {}
    for label, type_, name, number in _FIELD.findall(body):
        how = "list" if label == "repeated" else "inline" if name in _INLINE else ""
        inner = type_
        if type_.startswith("map<"):
            how, inner = "map", type_.removesuffix(">").partition(",")[2].strip()
        fields[number] = [name, _qualified(package, inner), how]
    return fields


def _qualified(package: str, type_: str) -> str:
    if type_ in _SCALARS:
        return type_
    return _PREFIX.sub("", type_) if "." in type_ else f"{package}.{type_}"


def reachable(schema: Schema) -> Schema:
    """What the root messages lead to."""
    kept: Schema = {}
    todo = list(ROOTS)
    while todo:
        name = todo.pop()
        if name not in kept:
            kept[name] = schema[name]
            todo += [type_ for _, type_, _ in schema[name].values() if type_ not in _SCALARS]
    return dict(sorted(kept.items()))


if __name__ == "__main__":
    messages = reachable(read([Path(argument) for argument in sys.argv[1:]]))
    lines = (f"{json.dumps(name)}:{json.dumps(m, separators=(',', ':'))}" for name, m in messages.items())
    target = Path(__file__).with_name("types.json")
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")
