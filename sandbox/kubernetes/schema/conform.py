"""Holds JSON objects to the API's types, as decoding them into Go structs does.

A value of another type is refused; a field that does not exist is dropped, or refused where the client asked
for strict validation, as kubectl does.
"""

import base64
import binascii
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from sandbox.kubernetes.schema.types import by_name

Obj = dict[str, Any]

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
_QUANTITY = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?")
_JSON_NAMES = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}
_TYPE_FIELDS = ("kind", "apiVersion")


class Unfit(ValueError):
    """The object does not fit its type; the text says where, in the words of the JSON decoder."""


def conform(message: str, obj: Obj, strict: bool = False) -> Obj:
    """A copy with what the type knows. Raises Unfit."""
    unknown: list[str] = []
    fitted = _message(message, obj, "", unknown)
    if strict and unknown:
        fields = ", ".join(f'unknown field "{path}"' for path in unknown)
        raise Unfit(f"strict decoding error: {fields}")
    return fitted


def _message(message: str, obj: Any, path: str, unknown: list[str]) -> Obj:
    if not isinstance(obj, dict):
        raise _mismatch(obj, path, message)
    fields = by_name(message)
    fitted: Obj = {}
    for name, value in obj.items():
        place = f"{path}.{name}" if path else name
        field = fields.get(name)
        if field is None:
            if path or name not in _TYPE_FIELDS:
                unknown.append(place)
            elif value is not None:
                fitted[name] = value
        elif value is not None:
            fitted[name] = _field(field.how, field.type, value, place, unknown)
    return fitted


def _field(how: str, type_: str, value: Any, path: str, unknown: list[str]) -> Any:
    if how == "list":
        if not isinstance(value, list):
            raise _mismatch(value, path, f"[]{type_}")
        return [_value(type_, item, path, unknown) for item in value]
    if how == "map":
        if not isinstance(value, dict):
            raise _mismatch(value, path, f"map[string]{type_}")
        return {key: _value(type_, item, f"{path}.{key}", unknown) for key, item in value.items() if item is not None}
    return _value(type_, value, path, unknown)


def _value(type_: str, value: Any, path: str, unknown: list[str]) -> Any:
    check = _CHECKS.get(type_)
    if check is None:
        return _message(type_, value, path, unknown)
    if not check(value):
        raise _mismatch(value, path, type_)
    return value


def _mismatch(value: Any, path: str, type_: str) -> Unfit:
    wanted = type_.rpartition(".")[2]
    if wanted == "Quantity":
        return Unfit(f"{path}: quantities must match the regular expression '{_QUANTITY.pattern}'")
    found = _JSON_NAMES.get(type(value), "null")
    return Unfit(f"json: cannot unmarshal {found} into Go struct field {path} of type {wanted}")


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
