"""Checks that hold for objects of every kind: names, labels, owners, and the words for wrong values."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sandbox.kubernetes.errors import Cause
from sandbox.kubernetes.gojson import compact
from sandbox.kubernetes.names import (
    config_key_faults,
    label_key_faults,
    label_name_faults,
    label_value_faults,
    namespace_faults,
    path_faults,
    qualified_faults,
    subdomain_faults,
)
from sandbox.kubernetes.objects import Obj, uid_of

_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")


def _anything(name: str) -> Iterable[str]:
    del name
    return ()


_NAME_RULES: Mapping[str, Callable[[str], Iterable[str]]] = {
    "namespaces": namespace_faults,
    "services": label_name_faults,
    "clusterroles": path_faults,
    "clusterrolebindings": path_faults,
    "roles": path_faults,
    "rolebindings": path_faults,
    "certificatesigningrequests": _anything,
    "poddisruptionbudgets": _anything,
    "events": _anything,
}


def wrong(field: str, value: Any, why: str) -> Cause:
    """`Invalid value` with the value as JSON."""
    return Cause(field, f"Invalid value: {compact(value)}: {why}")


def required(field: str, why: str = "") -> Cause:
    """`Required value`."""
    return Cause(field, "Required value" + (f": {why}" if why else ""), "FieldValueRequired")


def duplicate(field: str, value: Any, why: str = "") -> Cause:
    """`Duplicate value`."""
    shown = f"Duplicate value: {compact(value)}" + (f": {why}" if why else "")
    return Cause(field, shown, "FieldValueDuplicate")


def refused(field: str, why: str) -> Cause:
    """`Forbidden`: a change that is not allowed."""
    return Cause(field, f"Forbidden: {why}", "FieldValueForbidden")


def unsupported(field: str, value: Any, supported: Iterable[str]) -> Cause:
    """`Unsupported value`, naming the supported ones."""
    names = ", ".join(f'"{name}"' for name in supported)
    return Cause(field, f"Unsupported value: {compact(value)}: supported values: {names}", "FieldValueNotSupported")


def missing(field: str, value: Any) -> Cause:
    """`Not found`: a name of something that is not there."""
    return Cause(field, f"Not found: {compact(value)}", "FieldValueNotFound")


def faulty(field: str, value: Any, faults: Iterable[str]) -> Iterator[Cause]:
    """`Invalid value` for each fault of one value."""
    return (wrong(field, value, fault) for fault in faults)


def metadata_causes(plural: str, obj: Obj) -> Iterator[Cause]:
    """What is wrong with the metadata."""
    metadata, rule = obj["metadata"], _NAME_RULES.get(plural, subdomain_faults)
    prefix, name = metadata.get("generateName"), metadata.get("name", "")
    if prefix:
        # The server completes a prefix by a letter for checking it: it may well end in a dash.
        yield from faulty("metadata.generateName", prefix, rule(prefix.removesuffix("-") + "a"))
    if name:
        yield from faulty("metadata.name", name, rule(name))
    else:
        yield required("metadata.name", "name or generateName is required")
    yield from label_causes("metadata.labels", metadata.get("labels") or {})
    for key in metadata.get("annotations") or {}:
        yield from faulty("metadata.annotations", key, qualified_faults(key.lower()))
    yield from _owner_causes(metadata.get("ownerReferences") or [])
    yield from _finalizer_causes(metadata.get("finalizers") or [])


def immutable_uid_causes(new: Obj, old: Obj) -> Iterator[Cause]:
    """What is wrong when an update names another UID. The server says it twice: for all kinds and for each."""
    uid = new["metadata"].get("uid")
    if uid and uid != uid_of(old):
        yield from [wrong("metadata.uid", uid, "field is immutable")] * 2


def _owner_causes(owners: list[Obj]) -> Iterator[Cause]:
    for owner in owners:
        field = "metadata.ownerReferences"
        if not owner.get("apiVersion"):
            yield wrong(f"{field}.apiVersion", "", "version must not be empty")
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                yield wrong(f"{field}.{name}", "", "must not be empty")


def _finalizer_causes(finalizers: list[str]) -> Iterator[Cause]:
    for finalizer in finalizers:
        yield from faulty("metadata.finalizers", finalizer, qualified_faults(finalizer))
    for index, finalizer in enumerate(finalizers):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            yield wrong(f"metadata.finalizers[{index}]", finalizer, why)


def label_causes(field: str, labels: Mapping[str, str]) -> Iterator[Cause]:
    """What is wrong with a map of labels."""
    for key in sorted(labels):
        yield from faulty(field, key, label_key_faults(key))
        yield from faulty(field, labels[key], label_value_faults(labels[key]))


def data_causes(field: str, data: Mapping[str, str]) -> Iterator[Cause]:
    """What is wrong with the keys of a secret's or a config map's data."""
    for key in sorted(data):
        yield from faulty(f"{field}[{key}]", key, config_key_faults(key))
