"""Checks that hold for objects of every kind: names, labels, and the words for wrong values."""

import json
import re
from collections.abc import Iterator
from typing import Any

from sandbox.kubernetes.errors import Cause
from sandbox.kubernetes.objects import Obj

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_COLON_NAMES = ("clusterroles", "clusterrolebindings", "roles", "rolebindings", "certificatesigningrequests")


def wrong(field: str, value: Any, why: str) -> Cause:
    """`Invalid value` with the value as JSON."""
    return Cause(field, f"Invalid value: {json.dumps(value)}: {why}")


def required(field: str, why: str = "") -> Cause:
    """`Required value`."""
    return Cause(field, "Required value" + (f": {why}" if why else ""), "FieldValueRequired")


def duplicate(field: str, value: Any) -> Cause:
    """`Duplicate value`."""
    shown = json.dumps(value, separators=(",", ":"))
    return Cause(field, f"Duplicate value: {shown}", "FieldValueDuplicate")


def refused(field: str, why: str) -> Cause:
    """`Forbidden`: a change that is not allowed."""
    return Cause(field, f"Forbidden: {why}", "FieldValueForbidden")


def unsupported(field: str, value: Any, supported: tuple[str, ...]) -> Cause:
    """`Unsupported value`, naming the supported ones."""
    names = ", ".join(f'"{name}"' for name in supported)
    return Cause(field, f"Unsupported value: {json.dumps(value)}: supported values: {names}", "FieldValueNotSupported")


def is_subdomain(name: str) -> bool:
    """Whether a name fits RFC 1123 subdomains, as most object names must."""
    return len(name) <= 253 and _SUBDOMAIN.fullmatch(name) is not None


def is_label_key(key: str) -> bool:
    """Whether a text is a qualified name: an optional DNS prefix, a slash, and a name."""
    prefix, slash, name = key.rpartition("/")
    if slash and not is_subdomain(prefix):
        return False
    return 0 < len(name) <= 63 and _NAME_PART.fullmatch(name) is not None


def is_label_value(value: Any) -> bool:
    """Whether a text may be a label's or a taint's value."""
    return isinstance(value, str) and len(value) <= 63 and _VALUE.fullmatch(value) is not None


def metadata_causes(plural: str, obj: Obj) -> Iterator[Cause]:
    """What is wrong with the name, the labels and the annotations."""
    metadata = obj["metadata"]
    name = metadata["name"]
    if plural not in _COLON_NAMES and not is_subdomain(name):
        yield wrong(
            "metadata.name",
            name,
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
            "and must start and end with an alphanumeric character",
        )
    yield from label_causes("metadata.labels", metadata.get("labels") or {})
    for key, value in (metadata.get("annotations") or {}).items():
        if not is_label_key(key) or not isinstance(value, str):
            yield wrong("metadata.annotations", key, "name part must consist of alphanumeric characters")


def label_causes(field: str, labels: Obj) -> Iterator[Cause]:
    """What is wrong with a map of labels."""
    for key, value in labels.items():
        if not is_label_key(key):
            yield wrong(
                field,
                key,
                "name part must consist of alphanumeric characters, '-', '_' or '.', "
                "and must start and end with an alphanumeric character",
            )
        if not is_label_value(value):
            yield wrong(
                field,
                value,
                "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
                "and must start and end with an alphanumeric character",
            )
