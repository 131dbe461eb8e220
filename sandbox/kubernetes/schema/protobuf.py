"""Decodes protobuf messages of the Kubernetes API into the dictionaries that their JSON form would give."""

import base64
import json
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from sandbox.kubernetes.schema.types import by_number, type_of

Obj = dict[str, Any]

_MAGIC = b"k8s\x00"


class BadMessage(ValueError):
    """The bytes are not a protobuf message of a type we know."""


def decode_object(raw: bytes) -> Obj:
    """An object in the envelope that Kubernetes puts around it. Raises BadMessage."""
    if not raw.startswith(_MAGIC):
        raise BadMessage("the magic number is missing")
    try:
        envelope = dict(_fields(raw[len(_MAGIC) :]))
        head = {number: value.decode() for number, value in _fields(envelope[1])}
        api_version, kind = head.get(1, ""), head.get(2, "")
        group, _, version = api_version.rpartition("/")
        obj = _message(type_of(group, version, kind), envelope.get(2, b""))
    except (KeyError, IndexError, struct.error, UnicodeDecodeError, AttributeError, TypeError) as error:
        raise BadMessage(f"not a known message: {error!r}") from error
    return {"apiVersion": api_version, "kind": kind} | obj


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Field numbers with raw values: int for numbers, bytes for everything else."""
    place = 0
    while place < len(data):
        tag, place = _varint(data, place)
        value: Any
        match tag & 7:  # the wire type: number, eight bytes, a length and bytes, four bytes
            case 0:
                value, place = _varint(data, place)
            case 1:
                value, place = data[place : place + 8], place + 8
            case 2:
                size, place = _varint(data, place)
                if place + size > len(data):
                    raise IndexError("a field ends beyond its message")
                value, place = data[place : place + size], place + size
            case 5:
                value, place = data[place : place + 4], place + 4
            case wire:
                raise KeyError(f"wire type {wire}")
        yield tag >> 3, value


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7


def _message(type_: str, data: bytes) -> Obj:
    known = by_number()[type_]
    obj: Obj = {}
    for number, raw in _fields(data):
        field = known.get(number)
        if field is None:
            continue
        if field.how == "map":
            entry = dict(_fields(raw))
            obj.setdefault(field.name, {})[entry[1].decode()] = _value(field.type, entry.get(2, b""))
            continue
        value = _value(field.type, raw)
        if field.how == "list":
            obj.setdefault(field.name, []).append(value)
        elif field.how == "inline":
            obj |= value
        elif value not in ("", None):  # what Go leaves unset travels as empty text or zero time
            obj[field.name] = value
    return obj


def _value(type_: str, raw: Any) -> Any:
    plain = _PLAIN.get(type_)
    return plain(raw) if plain else _message(type_, raw)


def _signed(number: int) -> int:
    """A negative number travels as its complement in 64 bits."""
    return number - (1 << 64) if number >> 63 else number


def _int_or_string(raw: bytes) -> int | str:
    parts = dict(_fields(raw))
    return str(parts.get(3, b"").decode()) if parts.get(1) else _signed(parts.get(2, 0))


def _time(raw: bytes, form: str) -> str | None:
    parts = dict(_fields(raw))
    if not parts:
        return None
    moment = datetime.fromtimestamp(_signed(parts.get(1, 0)), UTC)
    return (moment + timedelta(microseconds=parts.get(2, 0) // 1000)).strftime(form)


_PLAIN: dict[str, Callable[[Any], Any]] = {
    "string": lambda raw: raw.decode(),
    "bytes": lambda raw: base64.b64encode(raw).decode(),
    "bool": bool,
    "int32": _signed,
    "int64": _signed,
    "double": lambda raw: struct.unpack("<d", raw)[0],
    "meta.v1.Time": lambda raw: _time(raw, "%Y-%m-%dT%H:%M:%SZ"),
    "meta.v1.MicroTime": lambda raw: _time(raw, "%Y-%m-%dT%H:%M:%S.%fZ"),
    "api.resource.Quantity": lambda raw: dict(_fields(raw)).get(1, b"").decode(),
    "util.intstr.IntOrString": _int_or_string,
    "meta.v1.FieldsV1": lambda raw: json.loads(dict(_fields(raw)).get(1, b"{}")),
}
