"""The body of a request: read late, since what the server says of a broken one depends on what it was to be."""

from dataclasses import dataclass
from typing import Any

import msgspec
import yaml

from sandbox.kubernetes.errors import ApiError, bad_request
from sandbox.kubernetes.gojson import not_into, syntax_error
from sandbox.kubernetes.objects import Obj
from sandbox.kubernetes.schema import BadMessage, decode_object

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
_TYPE_ONLY = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
_UNTYPED = "couldn't get version/kind; json parse error"
_SHOWN = 30  # bytes of a body that a message repeats


class _Broken(ValueError):
    """The body cannot be read; the text says why."""


@dataclass(frozen=True)
class Body:
    """The bytes of a request with their media type."""

    raw: bytes
    media_type: str

    def object(self, kind: str) -> Obj:
        """An object to write. Raises ApiError 400 for what is none, 415 for an unknown media type."""
        try:
            return self._object()
        except _Broken as error:
            text = f"the object provided is unrecognized (must be of type {kind}): {error} ({_summary(self.raw)})"
            raise bad_request(text) from error

    def options(self) -> Obj:
        """The options of a delete, which may be left out. Raises ApiError 400 or 415."""
        if not self.raw:
            return {}
        try:
            return self._object()
        except _Broken as error:
            raise bad_request(str(error)) from error

    def patch(self) -> Any:
        """What a patch asks for. Raises ApiError 400."""
        prefix = "" if self.media_type == STRATEGIC_PATCH else "error decoding patch: "
        try:
            if self.media_type == APPLY:
                return _from_yaml(self.raw)
            patch = _from_json(self.raw)
        except _Broken as error:
            prefix = "error decoding YAML: error converting YAML to JSON: " if self.media_type == APPLY else prefix
            raise bad_request(f"{prefix}{error}") from error
        wanted = list if self.media_type == JSON_PATCH else dict
        if not isinstance(patch, wanted):
            type_ = "[]handlers.jsonPatchOp" if wanted is list else "map[string]interface {}"
            raise bad_request(prefix + not_into(patch, type_))
        return patch

    def _object(self) -> Obj:
        if self.media_type == PROTOBUF:
            try:
                return decode_object(self.raw)
            except BadMessage as error:
                raise _Broken(str(error)) from error
        if self.media_type not in ("", JSON, YAML):
            raise unsupported_media()
        try:
            found = _from_yaml(self.raw) if self.media_type == YAML else _from_json(self.raw)
        except _Broken as error:
            if self.media_type == YAML:
                raise
            raise _Broken(f"{_UNTYPED}: {error}") from error
        if found is not None and not isinstance(found, dict):
            raise _Broken(f"{_UNTYPED}: {not_into(found, _TYPE_ONLY)}")
        return found or {}


def unsupported_media() -> ApiError:
    """415: the body is in a form that the server does not read."""
    accepted = ", ".join((JSON, YAML, PROTOBUF))
    message = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    return ApiError(415, "UnsupportedMediaType", message)


def _from_json(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        raise _Broken(syntax_error(raw.decode(errors="replace"))) from error


def _from_yaml(raw: bytes) -> Any:
    try:
        return yaml.safe_load(raw)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise _Broken(f"yaml: line {line}: {error.problem}") from error
    except yaml.YAMLError as error:
        raise _Broken(f"yaml: {error}") from error


def _summary(raw: bytes) -> str:
    if not raw:
        return "<empty>"
    shown, rest = raw[:_SHOWN], " ..." if len(raw) > _SHOWN else ""
    return (shown.decode(errors="replace") if raw[:1] == b"{" else shown.hex()) + rest
