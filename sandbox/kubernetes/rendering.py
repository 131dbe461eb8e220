"""Turns stored objects into the JSON that the client's Accept header asks for."""

from datetime import datetime
from enum import Enum
from typing import NamedTuple

import msgspec

from sandbox.kubernetes.events import from_core
from sandbox.kubernetes.kinds import NEW_EVENTS, Kind
from sandbox.kubernetes.objects import Obj
from sandbox.kubernetes.store import Stored
from sandbox.kubernetes.tables import COLUMNS, columns, row


class Position(NamedTuple):
    """Where a list stands: its resourceVersion, the token that continues it, how many items are left."""

    version: int
    next: str = ""
    left: int = 0


class Form(Enum):
    """The three forms that an object can be asked for in."""

    OBJECT = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"


class View(NamedTuple):
    """The form that a client asked for, and the time that ages in tables count to."""

    form: Form
    now: datetime


def view_of(accept: str, kind: Kind, now: datetime) -> View:
    """The view for an Accept header."""
    return View(_form_of(accept, kind), now)


def _form_of(accept: str, kind: Kind) -> Form:
    """The first form in an Accept header that we can give."""
    for choice in accept.split(","):
        parts = dict(part.strip().split("=", 1) for part in choice.split(";") if "=" in part)
        wanted = parts.get("as", "").removesuffix("List")
        if wanted == "Table" and kind in COLUMNS:
            return Form.TABLE
        if wanted == "PartialObjectMetadata":
            return Form.METADATA
        if not wanted and "json" in choice:
            return Form.OBJECT
    return Form.OBJECT


def single(kind: Kind, stored: Stored, view: View | None = None) -> bytes:
    """One object, with `kind` and `apiVersion`."""
    if view and view.form is Form.TABLE:
        return _table(kind, [stored], Position(stored.version), view.now)
    if view and view.form is Form.METADATA:
        return b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",' + _metadata(stored)[1:]
    if kind is NEW_EVENTS:
        return Stored(from_core(stored.obj), stored.version).full(kind)
    return stored.full(kind)


def listing(kind: Kind, items: list[Stored], view: View, position: Position) -> bytes:
    """A list, or one page of it."""
    if view.form is Form.TABLE:
        return _table(kind, items, position, view.now)
    name, api_version, bodies = f"{kind.name}List", kind.api_version, [item.body for item in items]
    if view.form is Form.METADATA:
        name, api_version = "PartialObjectMetadataList", "meta.k8s.io/v1"
        bodies = [_metadata(item) for item in items]
    elif kind is NEW_EVENTS:
        bodies = [msgspec.json.encode(from_core(item.obj)) for item in items]
    metadata = msgspec.json.encode(_list_metadata(position))
    head = f'{{"kind":"{name}","apiVersion":"{api_version}","metadata":'.encode()
    return head + metadata + b',"items":[' + b",".join(bodies) + b"]}"


def bookmark(kind: Kind, version: int, view: View, initial_end: bool) -> Obj:
    """The object of a BOOKMARK event: nothing but a resourceVersion."""
    metadata: Obj = {"resourceVersion": str(version)}
    if initial_end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    if view.form is Form.TABLE:
        return {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "rows": []}
    return {"kind": kind.name, "apiVersion": kind.api_version, "metadata": metadata}


def _list_metadata(position: Position) -> Obj:
    metadata: Obj = {"resourceVersion": str(position.version)}
    if position.next:
        metadata |= {"continue": position.next, "remainingItemCount": position.left}
    return metadata


def _metadata(stored: Stored) -> bytes:
    return msgspec.json.encode({"metadata": stored.obj["metadata"]})


def _table(kind: Kind, items: list[Stored], position: Position, now: datetime) -> bytes:
    table = {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": _list_metadata(position),
        "columnDefinitions": columns(kind),
        "rows": [row(kind, item.obj, now) for item in items],
    }
    return msgspec.json.encode(table)
