"""Failures as the Kubernetes API words them: an exception which knows its `Status` answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sandbox.kubernetes.kinds import Kind
from sandbox.kubernetes.objects import Obj


@dataclass(frozen=True)
class Cause:
    """One wrong field: `reason` is the API's cause type, `field` the JSON path with dots."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"


@dataclass
class ApiError(Exception):
    """An answer other than success. `body()` is the `Status` object that goes over the wire."""

    code: int
    reason: str
    message: str
    details: Obj | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> Obj:
        """The `Status` object (kind, reason, message, details, code)."""
        status: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        status["message"] = self.message
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        return status | {"code": self.code}


def _details(kind: Kind, name: str) -> Obj:
    group = {"group": kind.group} if kind.group else {}
    return ({"name": name} if name else {}) | group | {"kind": kind.plural}


def not_found(kind: Kind, name: str) -> ApiError:
    """404: no such object."""
    return ApiError(404, "NotFound", f'{kind.resource} "{name}" not found', _details(kind, name))


def already_exists(kind: Kind, name: str) -> ApiError:
    """409: a create met an object of that name."""
    return ApiError(409, "AlreadyExists", f'{kind.resource} "{name}" already exists', _details(kind, name))


def conflict(kind: Kind, name: str, why: str = "") -> ApiError:
    """409: the resourceVersion or a precondition does not hold any more."""
    why = why or ("the object has been modified; please apply your changes to the latest version and try again")
    message = f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}'
    return ApiError(409, "Conflict", message, _details(kind, name))


def unlike(kind: Kind, name: str, field: str, wanted: str, found: str) -> ApiError:
    """409: the UID or resourceVersion that a delete holds to is not the object's."""
    since = "deleted and then recreated" if field == "UID" else "modified"
    why = f"the {field} in the precondition ({wanted}) does not match the {field} in record ({found})"
    message = f'Operation cannot be fulfilled on {kind.name} "{name}": {why}. The object might have been {since}'
    return ApiError(409, "Conflict", message, {"name": name, "kind": kind.name})


_ETCD_NAMES = {"nodes": "minions", "services": "services/specs"}  # where etcd keeps them, from the first days


def unlike_stored(kind: Kind, obj: Obj, uid: str) -> str:
    """Why a PUT meets a conflict when it names another UID than the stored object has."""
    metadata = obj["metadata"]
    parts = (_ETCD_NAMES.get(kind.plural, kind.plural), metadata.get("namespace", ""), metadata["name"])
    key = "/".join(("/registry", *filter(None, parts)))
    why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {metadata['uid']}"
    return f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"


def forbidden(kind: Kind, name: str, why: str, causes: Sequence[Cause] = ()) -> ApiError:
    """403: the user, or an admission rule, refuses."""
    subject = f'{kind.resource} "{name}"' if name else kind.resource
    details = _details(kind, name)
    if causes:
        details["causes"] = _causes(causes)
    return ApiError(403, "Forbidden", f"{subject} is forbidden: {why}", details)


def invalid(kind: Kind, name: str, causes: Sequence[Cause]) -> ApiError:
    """422: validation failed on one field or more."""
    return invalid_as(kind.group, kind.name, name, causes)


def invalid_as(group: str, what: str, name: str, causes: Sequence[Cause]) -> ApiError:
    """422 for what is no stored object: options, reviews, and parts of an object."""
    texts = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    joined = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    details = {"name": name, "group": group, "kind": what}
    details = {key: value for key, value in details.items() if value}
    qualified = f"{what}.{group}" if group else what
    message = f'{qualified} "{name}" is invalid: {joined}'
    return ApiError(422, "Invalid", message, {**details, "causes": _causes(causes)})


def _causes(causes: Sequence[Cause]) -> list[Obj]:
    return [{"reason": c.reason, "message": c.message, "field": c.field} for c in causes]


def bad_request(message: str) -> ApiError:
    """400: the request cannot be understood."""
    return ApiError(400, "BadRequest", message)


def misnamed(sent: str, wanted: str) -> ApiError:
    """400: an object was sent to the path of another."""
    return bad_request(f"the name of the object ({sent}) does not match the name on the URL ({wanted})")


def unauthorized() -> ApiError:
    """401: the bearer token is not one we know, or has expired."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def expired(message: str) -> ApiError:
    """410: the resourceVersion is older than what the server still remembers."""
    return ApiError(410, "Expired", message)


def too_large_version(asked: int, current: int) -> ApiError:
    """504: the resourceVersion lies in the future."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    return ApiError(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})


def method_not_allowed() -> ApiError:
    """405: the path exists, the verb does not."""
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message, {})


def unknown_path() -> ApiError:
    """404 for a path of no known resource below a group that there is."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})
