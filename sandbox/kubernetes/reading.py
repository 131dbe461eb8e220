"""GET: one object, a list in pages, or a watch."""

import base64
import binascii
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from starlette.datastructures import QueryParams
from starlette.responses import Response, StreamingResponse

from sandbox.kubernetes.errors import ApiError, bad_request, expired, not_found, too_large_version
from sandbox.kubernetes.kinds import PODS
from sandbox.kubernetes.objects import name_of, namespace_of
from sandbox.kubernetes.paths import Target
from sandbox.kubernetes.rendering import Position, listing, single, view_of
from sandbox.kubernetes.selectors import matcher, parse_fields
from sandbox.kubernetes.store import Store, Stored
from sandbox.kubernetes.watching import Hub, Watch, WatchRequest

_TRUE = ("1", "true", "True")


@dataclass(frozen=True)
class Reader:
    """Answers GET requests from a store."""

    store: Store
    hub: Hub
    now: Callable[[], datetime]

    def one(self, target: Target, accept: str) -> Response:
        """A single object. Raises ApiError 404."""
        found = self.store.get(target.kind, target.namespace, target.name)
        if found is None:
            raise not_found(target.kind, target.name)
        return json_response(single(target.kind, found, view_of(accept, target.kind, self.now())))

    def many(self, target: Target, query: QueryParams, accept: str) -> Response:
        """A list, or its first or next page. Raises ApiError 400, 410 or 504."""
        kind = target.kind
        version = self._check_version(query.get("resourceVersion", ""))
        matches = matcher(kind, query.get("labelSelector", ""), query.get("fieldSelector", ""))
        items = self._candidates(target, query)
        if matches:
            items = [item for item in items if matches(item.obj)]
        start = ""
        if query.get("continue"):
            version, start = self._continued(target, query["continue"])
            items = [item for item in items if _key(item) > start]
        limit = _number(query, "limit")
        page = items[:limit] if limit else items
        more = _token(version, _key(page[-1])) if len(page) < len(items) else ""
        return json_response(
            listing(kind, page, view_of(accept, kind, self.now()), Position(version, more, len(items) - len(page)))
        )

    def watch(self, target: Target, query: QueryParams, accept: str) -> Response:
        """A stream of events. Raises ApiError 400."""
        kind = target.kind
        fields = query.get("fieldSelector", "")
        if target.name:
            fields = ",".join(filter(None, (fields, f"metadata.name={target.name}")))
        send_initial = query.get("sendInitialEvents", "")
        if send_initial and query.get("resourceVersionMatch") != "NotOlderThan":
            raise bad_request(
                "sendInitialEvents is forbidden for watch unless resourceVersionMatch is set to NotOlderThan"
            )
        since = _version(query.get("resourceVersion", ""))
        bookmarks = query.get("allowWatchBookmarks") in _TRUE
        wanted = WatchRequest(
            kind,
            target.namespace,
            matcher(kind, query.get("labelSelector", ""), fields),
            view_of(accept, kind, self.now()),
            since=since,
            initial=send_initial in _TRUE if send_initial else since == 0,
            mark_end=send_initial in _TRUE and bookmarks,
            bookmarks=bookmarks,
            seconds=_number(query, "timeoutSeconds") or random.uniform(1800, 3600),
            node=_node(target, fields),
        )
        events = Watch(self.store, self.hub, wanted, self.now).events()
        return StreamingResponse(events, media_type="application/json")

    def _candidates(self, target: Target, query: QueryParams) -> list[Stored]:
        node = _node(target, query.get("fieldSelector", ""))
        if node is None:
            return self.store.all(target.kind, target.namespace)
        pods = self.store.pods_on(node)
        return [p for p in pods if target.namespace in ("", namespace_of(p.obj))]

    def _check_version(self, asked: str) -> int:
        wanted = _version(asked)
        if wanted > self.store.version:
            raise too_large_version(wanted, self.store.version)
        return self.store.version

    def _continued(self, target: Target, token: str) -> tuple[int, str]:
        try:
            version, start = json.loads(base64.urlsafe_b64decode(token))
        except (ValueError, binascii.Error, TypeError) as error:
            raise bad_request("continue key is not valid: unable to decode") from error
        if version < self.store.floor(target.kind):
            raise expired(
                "The provided continue parameter is too old to display a consistent list result. You can start "
                "a new list without the continue parameter, or use the continue token in this response to "
                "retrieve the remainder of the results."
            )
        return int(version), str(start)


def json_response(body: bytes, code: int = 200) -> Response:
    """An answer of JSON."""
    return Response(body, code, media_type="application/json")


def _node(target: Target, fields: str) -> str | None:
    """The node whose pods are asked for, so that they need not be searched."""
    if target.kind is not PODS:
        return None
    return next((v for path, equal, v in parse_fields(PODS, fields) if path == "spec.nodeName" and equal), None)


def _key(stored: Stored) -> str:
    return f"{namespace_of(stored.obj)}/{name_of(stored.obj)}"


def _token(version: int, last: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([version, last]).encode()).decode()


def _version(text: str) -> int:
    if not text:
        return 0
    if not text.isdigit():
        raise ApiError(400, "BadRequest", f'Invalid value: "{text}": resourceVersion must be a number')
    return int(text)


def _number(query: QueryParams, name: str) -> int:
    text = query.get(name, "")
    try:
        return int(text) if text else 0
    except ValueError as error:
        raise bad_request(f"invalid {name}: {text!r}") from error
