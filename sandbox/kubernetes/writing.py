"""POST, PUT, PATCH and DELETE on objects and collections."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.datastructures import QueryParams
from starlette.responses import Response

from sandbox.kubernetes.bodies import APPLY, JSON_PATCH, STRATEGIC_PATCH, YAML, Body
from sandbox.kubernetes.body_types import (
    OPTIONS,
    SCALE,
    Type,
    claimed,
    type_of_kind,
    unconvertible,
    unregistered,
)
from sandbox.kubernetes.errors import ApiError, bad_request, invalid_as, misnamed
from sandbox.kubernetes.events import from_core, to_core
from sandbox.kubernetes.gojson import compact
from sandbox.kubernetes.identity import User
from sandbox.kubernetes.kinds import NEW_EVENTS, PODS, SERVICE_ACCOUNTS, Kind
from sandbox.kubernetes.objects import Obj, name_of, namespace_of
from sandbox.kubernetes.options import (
    check_create,
    check_delete,
    check_list,
    check_list_version,
    check_patch,
    check_update,
    integer,
    is_dry,
)
from sandbox.kubernetes.patches import json_patch, merge
from sandbox.kubernetes.paths import Target
from sandbox.kubernetes.reading import json_response
from sandbox.kubernetes.registry import Registry
from sandbox.kubernetes.rendering import Position, listing, single, view_of
from sandbox.kubernetes.schema import Unfit, conform
from sandbox.kubernetes.selectors import matcher
from sandbox.kubernetes.store import Stored
from sandbox.kubernetes.strategic import strategic
from sandbox.kubernetes.strategies import strategy_of
from sandbox.kubernetes.subresources import Subresources
from sandbox.kubernetes.validation import wrong

_PATCHES: dict[str, Callable[[Obj, Any], Obj]] = {
    JSON_PATCH: json_patch,
    "application/merge-patch+json": merge,
    STRATEGIC_PATCH: strategic,
    APPLY: strategic,
}
_OBJECTS = ("", "status", "approval")


@dataclass(frozen=True)
class Writer:
    """Answers writing requests through a registry."""

    registry: Registry
    subresources: Subresources

    def post(self, target: Target, body: Body, query: QueryParams, user: User) -> Response:
        """Create an object, or act on a subresource."""
        check_create(query)
        if target.name:
            return self.subresources.post(target, _acting(target, body, query), query, user)
        sent = _checked(target.kind, body, query)
        return self._create(target, sent, query, user)

    def put(self, target: Target, body: Body, query: QueryParams, user: User) -> Response:
        """Replace an object, its status or its scale; create it where the kind allows that."""
        check_update(query)
        scales = target.subresource == "scale"
        sent = typed(SCALE, body, query) if scales else _checked(target.kind, body, query)
        metadata = sent.setdefault("metadata", {})
        if not metadata.get("name"):
            why = "undeterminable: name must be provided"
            raise bad_request(f"the name of the object ({target.name} based on URL) was {why}")
        if metadata["name"] != target.name:
            raise misnamed(metadata["name"], target.name)
        if scales:
            return self.subresources.patch(target, lambda _: sent, query, user)
        if not target.kind.namespaced:
            metadata.pop("namespace", None)
        elif metadata.setdefault("namespace", target.namespace) != target.namespace:
            raise bad_request("the namespace of the object does not match the namespace on the URL")
        if not target.subresource and strategy_of(target.kind).upserts and not self._exists(target):
            metadata.pop("resourceVersion", None)
            return self._create(target, sent, query, user)
        stored = self.registry.replace(target.kind, sent, target.subresource, user, is_dry(query))
        return json_response(single(target.kind, stored))

    def patch(self, target: Target, body: Body, query: QueryParams, user: User) -> Response:
        """Change an object, its status or its scale. Raises ApiError 415 for an unknown patch type."""
        apply = _PATCHES.get(body.media_type)
        if apply is None:
            raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
        applies = body.media_type == APPLY
        check_patch(query, applies)
        if applies:
            _check_typed(body.patch())
        if target.subresource not in _OBJECTS:
            rescale = lambda scale: _fitted_patch(SCALE, apply(scale, body.patch()), query)  # noqa: E731
            return self.subresources.patch(target, rescale, query, user)
        if applies and not self._exists(target):
            return self._create(target, _checked(target.kind, Body(body.raw, YAML), query), query, user)
        stored = self.registry.update(
            target.kind,
            target.namespace,
            target.name,
            lambda obj: _patched(target.kind, obj, lambda o: apply(o, body.patch()), query),
            target.subresource,
            user=user,
            dry_run=is_dry(query),
        )
        return json_response(single(target.kind, stored))

    def _create(self, target: Target, sent: Obj, query: QueryParams, user: User) -> Response:
        stored = self.registry.create(target.kind, target.namespace, sent, user, is_dry(query))
        return json_response(single(target.kind, stored), 201)

    def delete(self, target: Target, body: Body, query: QueryParams, user: User) -> Response:
        """Delete one object, or all that match when the target is a collection."""
        options = _delete_options(body, query)
        if not target.name:
            return self._delete_collection(target, options, query, user)
        deleted = self.registry.delete(target.kind, target.namespace, target.name, options, user)
        if not deleted.gone or target.kind in (PODS, SERVICE_ACCOUNTS):
            return json_response(single(target.kind, deleted.stored))
        return json_response(_success(target.kind, deleted.stored))

    def _delete_collection(self, target: Target, options: Obj, query: QueryParams, user: User) -> Response:
        """Delete what a list finds, and answer with that list."""
        check_list(query)
        integer(query, "limit")
        check_list_version(query)
        kind, version = target.kind, self.registry.store.version
        matches = matcher(kind, query.get("labelSelector", ""), query.get("fieldSelector", ""))
        found = [s for s in self.registry.store.all(kind, target.namespace) if matches is None or matches(s.obj)]
        for stored in found:
            self.registry.delete(kind, namespace_of(stored.obj), name_of(stored.obj), options, user)
        return json_response(listing(kind, found, view_of("", kind, self.registry.now()), Position(version)))

    def _exists(self, target: Target) -> bool:
        return self.registry.store.get(target.kind, target.namespace, target.name) is not None


def _checked(kind: Kind, body: Body, query: QueryParams) -> Obj:
    """A body that is of the kind it was sent as. Raises ApiError 400."""
    fitted = typed(type_of_kind(kind), body, query)
    return to_core(fitted) if kind is NEW_EVENTS else fitted


def typed(wanted: Type, body: Body, query: QueryParams) -> Obj:
    """A body that fits its type. Raises ApiError 400 for another type, or values of other types."""
    sent = body.object(wanted.kind)
    sent_as = claimed(sent, wanted)
    handled = f'{sent_as.kind} in version "{sent_as.version}" cannot be handled as a {wanted.kind}'
    if sent_as != wanted:
        raise bad_request(f"{handled}: {unconvertible(sent_as, wanted)}")
    try:
        return conform(wanted.message, sent, query.get("fieldValidation") == "Strict")
    except Unfit as error:
        raise bad_request(f"{handled}: {error}") from error


def _patched(kind: Kind, obj: Obj, change: Callable[[Obj], Any], query: QueryParams) -> Obj:
    """A stored object after a patch, which sees it in the form of its own API. Raises ApiError 422."""
    head: Obj = {"kind": kind.name, "apiVersion": kind.api_version}
    shown = from_core(obj) if kind is NEW_EVENTS else obj
    fitted = _fitted_patch(type_of_kind(kind), change(head | shown), query)
    return to_core(fitted) if kind is NEW_EVENTS else fitted


def _fitted_patch(type_: Type, patched: Obj, query: QueryParams) -> Obj:
    """What a patch made of an object, when it still fits its type. Raises ApiError 422."""
    sent_as = claimed(patched, type_)
    try:
        if sent_as != type_:
            raise Unfit(unconvertible(sent_as, type_))
        return conform(type_.message, patched, query.get("fieldValidation") == "Strict")
    except Unfit as error:
        raise invalid_as("", "", "", [wrong("patch", compact(patched), str(error))]) from error


_ACTIONS = {
    "eviction": Type("policy", "v1", "Eviction"),
    "binding": Type("", "v1", "Binding"),
    "token": Type("authentication.k8s.io", "v1", "TokenRequest"),
}


def _acting(target: Target, body: Body, query: QueryParams) -> Obj:
    """The body of a subresource that acts."""
    return typed(_ACTIONS[target.subresource], body, query)


def _check_typed(applied: Any) -> None:
    """Raise ApiError 400 for an object to apply that does not say of what type it is."""
    sent = applied if isinstance(applied, dict) else {}
    group, _, version = str(sent.get("apiVersion", "")).rpartition("/")
    kind = sent.get("kind", "")
    if not (version and kind):
        raise bad_request(f"invalid object type: {group}/{version}, Kind={kind}")


def _delete_options(body: Body, query: QueryParams) -> Obj:
    sent = body.options()
    sent_as = claimed(sent, OPTIONS)
    if sent_as.kind != OPTIONS.kind:
        raise bad_request(unregistered(sent_as))
    try:
        options = conform(OPTIONS.message, sent)
    except Unfit as error:
        raise bad_request(str(error)) from error
    if "gracePeriodSeconds" in query:
        options["gracePeriodSeconds"] = integer(query, "gracePeriodSeconds")
    if "propagationPolicy" in query:
        options["propagationPolicy"] = query["propagationPolicy"]
    if "dryRun" in query:
        options["dryRun"] = query.getlist("dryRun")
    check_delete(options)
    return options


def _success(kind: Kind, gone: Stored) -> bytes:
    group = {"group": kind.group} if kind.group else {}
    details = {"name": name_of(gone.obj)} | group | {"kind": kind.plural, "uid": gone.obj["metadata"]["uid"]}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return msgspec.json.encode(status)
