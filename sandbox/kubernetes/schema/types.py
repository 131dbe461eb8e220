"""The types of the Kubernetes API: for each message its fields by number, as `generate` wrote them."""

import json
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

_GROUPS = {"": "core", "rbac.authorization.k8s.io": "rbac"}  # others are named by their first part


class Field(NamedTuple):
    """A field: its JSON name, the type of its values, and `how`: "", "list", "map" or "inline"."""

    name: str
    type: str
    how: str


@lru_cache(1)
def by_number() -> dict[str, dict[int, Field]]:
    """All messages, with their fields by protobuf number."""
    loaded = json.loads(Path(__file__).with_name("types.json").read_text())
    return {
        message: {int(number): Field(*field) for number, field in fields.items()} for message, fields in loaded.items()
    }


@lru_cache(512)
def by_name(message: str) -> dict[str, Field]:
    """The fields of a message by JSON name, those of inlined messages among them."""
    fields: dict[str, Field] = {}
    for field in by_number()[message].values():
        if field.how == "inline":
            fields |= by_name(field.type)
        else:
            fields[field.name] = field
    return fields


def is_known(message: str) -> bool:
    """Whether there is such a message."""
    return message in by_number()


def type_of(group: str, version: str, kind: str) -> str:
    """The message of a kind, e.g. `apps.v1.Deployment`."""
    if kind == "DeleteOptions":
        return "meta.v1.DeleteOptions"
    return f"{_GROUPS.get(group, group.partition('.')[0])}.{version}.{kind}"
