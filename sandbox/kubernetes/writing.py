"""POST, PUT, PATCH and DELETE on objects and collections."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import yaml
from starlette.datastructures import QueryParams
from starlette.responses import Response

from sandbox.kubernetes.errors import ApiError, bad_request, unknown_path
from sandbox.kubernetes.events import from_core, to_core
from sandbox.kubernetes.identity import User
from sandbox.kubernetes.kinds import NEW_EVENTS, PODS, SERVICE_ACCOUNTS, Kind
from sandbox.kubernetes.objects import Obj, name_of, namespace_of
from sandbox.kubernetes.patches import json_patch, merge
from sandbox.kubernetes.paths import Target
from sandbox.kubernetes.reading import json_response
from sandbox.kubernetes.registry import Registry
from sandbox.kubernetes.rendering import single
from sandbox.kubernetes.schema import BadMessage, Unfit, conform, decode_object, type_of
from sandbox.kubernetes.selectors import matcher
from sandbox.kubernetes.store import Stored
from sandbox.kubernetes.strategic import strategic
from sandbox.kubernetes.subresources import Subresources

PROTOBUF = "application/vnd.kubernetes.protobuf"
APPLY = "application/apply-patch+yaml"
_PATCHES: dict[str, Callable[[Obj, Any], Obj]] = {
    "application/json-patch+json": json_patch,
    "application/merge-patch+json": merge,
    "application/strategic-merge-patch+json": strategic,
    APPLY: strategic,
}
_OBJECTS = ("", "status", "approval")


@dataclass(frozen=True)
class Writer:
    """Answers writing requests through a registry."""

    registry: Registry
    subresources: Subresources

    def post(self, target: Target, body: Any, query: QueryParams, user: User) -> Response:
        """Create an object, or act on a subresource."""
        if target.name:
            return self.subresources.post(target, _acting(target, body), query, user)
        sent = _checked(target.kind, body, query)
        stored = self.registry.create(target.kind, target.namespace, sent, user, _is_dry(query))
        return json_response(single(target.kind, stored), 201)

    def put(self, target: Target, body: Any, query: QueryParams, user: User) -> Response:
        """Replace an object or its status."""
        if target.subresource not in _OBJECTS:
            return self.subresources.put(target, _object(body), query, user)
        sent = _checked(target.kind, body, query)
        metadata = sent.setdefault("metadata", {})
        if not metadata.get("name"):
            why = "undeterminable: name must be provided"
            raise bad_request(f"the name of the object ({target.name} based on URL) was {why}")
        if metadata["name"] != target.name:
            raise bad_request(
                f"the name of the object ({metadata['name']}) does not match the name on the URL ({target.name})"
            )
        if metadata.setdefault("namespace", target.namespace) != target.namespace:
            raise bad_request("the namespace of the object does not match the namespace on the URL")
        stored = self.registry.replace(target.kind, sent, target.subresource, user, _is_dry(query))
        return json_response(single(target.kind, stored))

    def patch(self, target: Target, body: Any, content_type: str, query: QueryParams, user: User) -> Response:
        """Change an object, its status or its scale. Raises ApiError 415 for an unknown patch type."""
        apply = _PATCHES.get(content_type)
        if apply is None:
            raise unsupported_media(content_type, tuple(_PATCHES))
        if content_type == APPLY and not query.get("fieldManager"):
            raise bad_request(
                'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
            )
        if target.subresource not in _OBJECTS:
            return self.subresources.patch(target, lambda obj: apply(obj, body), query, user)
        if content_type == APPLY and not self._exists(target):
            sent = _checked(target.kind, body, query)
            stored = self.registry.create(target.kind, target.namespace, sent, user, _is_dry(query))
            return json_response(single(target.kind, stored), 201)
        stored = self.registry.update(
            target.kind,
            target.namespace,
            target.name,
            lambda obj: _patched(target.kind, obj, lambda o: apply(o, body), query),
            target.subresource,
            user=user,
            dry_run=_is_dry(query),
        )
        return json_response(single(target.kind, stored))

    def delete(self, target: Target, body: Any, query: QueryParams, user: User) -> Response:
        """Delete one object, or all that match when the target is a collection."""
        options = _delete_options(body, query)
        if not target.name:
            return self._delete_collection(target, options, query, user)
        before = self.registry.get(target.kind, target.namespace, target.name)
        after = self.registry.delete(target.kind, target.namespace, target.name, options, user)
        if after is not None or target.kind in (PODS, SERVICE_ACCOUNTS):
            return json_response(single(target.kind, after or before))
        return json_response(_success(target.kind, before))

    def _delete_collection(self, target: Target, options: Obj, query: QueryParams, user: User) -> Response:
        matches = matcher(target.kind, query.get("labelSelector", ""), query.get("fieldSelector", ""))
        for stored in self.registry.store.all(target.kind, target.namespace):
            if matches is None or matches(stored.obj):
                key = (namespace_of(stored.obj), name_of(stored.obj))
                self.registry.delete(target.kind, *key, options, user)
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return json_response(msgspec.json.encode(status))

    def _exists(self, target: Target) -> bool:
        return self.registry.store.get(target.kind, target.namespace, target.name) is not None


def decode(raw: bytes, content_type: str) -> Any:
    """A request body. Raises ApiError 400 when it cannot be read, 415 when it is no JSON or YAML."""
    if not raw:
        return {}
    if content_type == PROTOBUF:
        try:
            return decode_object(raw)
        except BadMessage as error:
            raise bad_request(f"unable to decode the body: {error}") from error
    if content_type not in ("", "application/json", "application/yaml", *_PATCHES):
        raise unsupported_media(content_type, ("application/json", "application/yaml"))
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        if "yaml" not in content_type:
            raise bad_request(f"couldn't get version/kind; json parse error: {error}") from error
    try:
        return yaml.safe_load(raw)
    except yaml.YAMLError as error:
        raise bad_request(f"error converting YAML to JSON: {error}") from error


def unsupported_media(content_type: str, accepted: tuple[str, ...]) -> ApiError:
    """415: the body is in a form that the server does not read."""
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return ApiError(415, "UnsupportedMediaType", message, {"causes": [{"message": content_type}]})


def _object(body: Any) -> Obj:
    if not isinstance(body, dict):
        raise bad_request("the body of the request is not an object")
    return body


def _checked(kind: Kind, body: Any, query: QueryParams) -> Obj:
    """A body that is of the kind it was sent as. Raises ApiError 400."""
    sent = _object(body)
    version = sent.get("apiVersion", kind.api_version)
    if version != kind.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
        )
    if sent.get("kind", kind.name) != kind.name:
        raise bad_request(f"the kind in the data ({sent['kind']}) does not match the expected kind ({kind.name})")
    fitted = _fitted(kind, sent, query)
    return to_core(fitted) if kind is NEW_EVENTS else fitted


def _patched(kind: Kind, obj: Obj, change: Callable[[Obj], Any], query: QueryParams) -> Obj:
    """A stored object after a patch, which sees it in the form of its own API."""
    if kind is NEW_EVENTS:
        return to_core(_fitted(kind, change(from_core(obj)), query))
    return _fitted(kind, change(obj), query)


def _fitted(kind: Kind, obj: Any, query: QueryParams) -> Obj:
    """An object of the kind's type. Raises ApiError 400 for values of other types, or unknown fields if asked."""
    strict = query.get("fieldValidation") == "Strict"
    return _conforming(type_of(kind.group, kind.version, kind.name), kind.name, kind.version, obj, strict)


def _conforming(message: str, kind: str, version: str, obj: Any, strict: bool = False) -> Obj:
    try:
        return conform(message, _object(obj), strict)
    except Unfit as error:
        raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {error}') from error


_ACTIONS = {
    "eviction": ("policy.v1.Eviction", "Eviction"),
    "binding": ("core.v1.Binding", "Binding"),
    "token": ("authentication.v1.TokenRequest", "TokenRequest"),
}


def _acting(target: Target, body: Any) -> Obj:
    """The body of a subresource that acts. Raises ApiError 400 or 404."""
    if target.subresource not in _ACTIONS:
        raise unknown_path()
    message, kind = _ACTIONS[target.subresource]
    return _conforming(message, kind, "v1", body)


def _is_dry(query: QueryParams) -> bool:
    value = query.get("dryRun", "")
    if value not in ("", "All"):
        raise bad_request(f'dryRun: Unsupported value: "{value}": supported values: "All"')
    return value == "All"


def _delete_options(body: Any, query: QueryParams) -> Obj:
    options = _conforming("meta.v1.DeleteOptions", "DeleteOptions", "v1", body)
    grace = query.get("gracePeriodSeconds", "")
    if grace:
        if not grace.lstrip("-").isdigit():
            raise bad_request(f"gracePeriodSeconds: {grace!r} is not a number")
        options["gracePeriodSeconds"] = int(grace)
    if "propagationPolicy" in query:
        options["propagationPolicy"] = query["propagationPolicy"]
    if _is_dry(query):
        options["dryRun"] = ["All"]
    return options


def _success(kind: Kind, gone: Stored) -> bytes:
    group = {"group": kind.group} if kind.group else {}
    details = {"name": name_of(gone.obj)} | group | {"kind": kind.plural, "uid": gone.obj["metadata"]["uid"]}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return msgspec.json.encode(status)
