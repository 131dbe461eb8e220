"""Holds JSON objects to the API's types, as decoding them into Go structs does.

A value of another type is refused; a field that does not exist is dropped, or refused where the client asked
for strict validation, as kubectl does.
"""

import base64
import binascii
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from sandbox.kubernetes.gojson import type_name
from sandbox.kubernetes.schema.types import by_name

Obj = dict[str, Any]

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
_QUANTITY = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?")
_SERVERS_QUANTITY = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_LAYOUTS = {
    "meta.v1.Time": "2006-01-02T15:04:05Z07:00",
    "meta.v1.MicroTime": "2006-01-02T15:04:05.000000Z07:00",
}
_TYPE_FIELDS = ("kind", "apiVersion")


class _Place(NamedTuple):
    """Where a value stands: in which struct, by which path, and by the path with the places in lists."""

    struct: str
    plain: str
    shown: str

    def field(self, struct: str, name: str) -> "_Place":
        """A field of the value, which is of that struct."""
        dot = "." if self.plain else ""
        return _Place(struct, f"{self.plain}{dot}{name}", f"{self.shown}{dot}{name}")

    def item(self, index: int) -> "_Place":
        """An item of the value."""
        return self._replace(shown=f"{self.shown}[{index}]")

    @property
    def path(self) -> str:
        """As the decoder names it; empty for the whole."""
        return f"{self.struct}.{self.plain}" if self.plain else ""


class Unfit(ValueError):
    """The object does not fit its type; the text says where, in the words of the JSON decoder."""


def conform(message: str, obj: Obj, strict: bool = False) -> Obj:
    """A copy with what the type knows. Raises Unfit."""
    unknown: list[str] = []
    fitted = _message(message, obj, _Place("", "", ""), unknown)
    if strict and unknown:
        fields = ", ".join(f'unknown field "{path}"' for path in unknown)
        raise Unfit(f"strict decoding error: {fields}")
    return fitted


def _message(message: str, obj: Any, where: _Place, unknown: list[str]) -> Obj:
    if not isinstance(obj, dict):
        raise _mismatch(obj, where, message, "")
    fields = by_name(message)
    struct = message.rpartition(".")[2]
    fitted: Obj = {}
    for name, value in obj.items():
        place = where.field(struct, name)
        field = fields.get(name)
        if field is None:
            if where.path or name not in _TYPE_FIELDS:
                unknown.append(place.shown)
            elif value is not None:
                fitted[name] = value
        elif value is not None:
            fitted[name] = _field(field.how, field.type, value, place, unknown)
    return fitted


def _field(how: str, type_: str, value: Any, where: _Place, unknown: list[str]) -> Any:
    if how == "list":
        if not isinstance(value, list):
            raise _mismatch(value, where, type_, "[]")
        return [_value(type_, item, where.item(index), unknown) for index, item in enumerate(value)]
    if how == "map":
        if not isinstance(value, dict):
            raise _mismatch(value, where, type_, "map[string]")
        return {key: _value(type_, item, where, unknown) for key, item in value.items() if item is not None}
    return _value(type_, value, where, unknown)


def _value(type_: str, value: Any, where: _Place, unknown: list[str]) -> Any:
    check = _CHECKS.get(type_)
    if check is None:
        return _message(type_, value, where, unknown)
    if not check(value):
        raise _mismatch(value, where, type_, "")
    return value


def _mismatch(value: Any, where: _Place, type_: str, how: str) -> Unfit:
    """The decoder's words. Texts of a special form have their own, all else is told by the place."""
    if type_ == "api.resource.Quantity" and not how:
        return Unfit(f"quantities must match the regular expression '{_SERVERS_QUANTITY}'")
    if isinstance(value, str) and not how:
        if type_ == "bytes":
            return Unfit(f"illegal base64 data at input byte {_first_bad(value)}")
        if type_ in _LAYOUTS:
            layout = _LAYOUTS[type_]
            return Unfit(f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "{layout[:4]}"')
    wanted = ".".join(type_.split(".")[-2:])  # a Go package is named by its version
    return Unfit(f"json: cannot unmarshal {type_name(value)} into Go struct field {where.path} of type {how}{wanted}")


def _first_bad(text: str) -> int:
    """Where a text stops being base64."""
    found = re.search("[^A-Za-z0-9+/]", text)
    return found.start() if found else len(text) - len(text) % 4


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_time(value: Any, form: re.Pattern[str] = _TIME) -> bool:
    if not isinstance(value, str) or not form.fullmatch(value):
        return False
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def _is_base64(value: Any) -> bool:
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, TypeError, ValueError):
        return False
    return True


def _is_quantity(value: Any) -> bool:
    return _is_int(value) or isinstance(value, float) or (isinstance(value, str) and bool(_QUANTITY.fullmatch(value)))


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "bytes": _is_base64,
    "bool": lambda value: isinstance(value, bool),
    "int32": _is_int,
    "int64": _is_int,
    "double": lambda value: _is_int(value) or isinstance(value, float),
    "meta.v1.Time": _is_time,
    "meta.v1.MicroTime": lambda value: _is_time(value, _MICRO_TIME),
    "api.resource.Quantity": _is_quantity,
    "util.intstr.IntOrString": lambda value: _is_int(value) or isinstance(value, str),
    "meta.v1.FieldsV1": lambda value: isinstance(value, dict),
    "certificates.v1.ExtraValue": lambda value: isinstance(value, list),
    "authentication.v1.ExtraValue": lambda value: isinstance(value, list),
}
