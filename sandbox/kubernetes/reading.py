"""GET: one object, a list in pages, or a watch."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from starlette.datastructures import QueryParams
from starlette.responses import Response, StreamingResponse

from sandbox.kubernetes import pages
from sandbox.kubernetes.errors import ApiError, expired, not_found, too_large_version
from sandbox.kubernetes.kinds import PODS
from sandbox.kubernetes.label_queries import parse_labels
from sandbox.kubernetes.objects import name_of, namespace_of
from sandbox.kubernetes.options import TRUE, check_list, check_list_version, check_watch, integer, version_fault
from sandbox.kubernetes.paths import Target
from sandbox.kubernetes.rendering import Position, listing, single, view_of
from sandbox.kubernetes.selectors import matcher_of, parse_fields
from sandbox.kubernetes.store import Store, Stored
from sandbox.kubernetes.watching import Hub, Watch, WatchRequest


@dataclass(frozen=True)
class Reader:
    """Answers GET requests from a store."""

    store: Store
    hub: Hub
    now: Callable[[], datetime]

    def one(self, target: Target, query: QueryParams, accept: str) -> Response:
        """A single object. Raises ApiError 404, or 500 for a version that is none."""
        _stored_version(query)
        found = self.store.get(target.kind, target.namespace, target.name)
        if found is None:
            raise not_found(target.kind, target.name)
        return json_response(single(target.kind, found, view_of(accept, target.kind, self.now())))

    def many(self, target: Target, query: QueryParams, accept: str) -> Response:
        """A list, or its first or next page. Raises ApiError 400, 410, 422 or 504."""
        kind, limit = target.kind, integer(query, "limit")
        integer(query, "timeoutSeconds")
        labels = parse_labels(query.get("labelSelector", ""))
        check_list(query)
        matches = matcher_of(labels, parse_fields(kind, query.get("fieldSelector", "")))
        version = self._check_version(query)
        items = self._candidates(target, query)
        if matches:
            items = [item for item in items if matches(item.obj)]
        start = ""
        if query.get("continue"):
            version, start = self._continued(target, query["continue"])
            items = [item for item in items if _key(item) > start]
        page = items[:limit] if limit > 0 else items
        more = pages.token(version, _key(page[-1])) if len(page) < len(items) else ""
        return json_response(
            listing(kind, page, view_of(accept, kind, self.now()), Position(version, more, len(items) - len(page)))
        )

    def watch(self, target: Target, query: QueryParams, accept: str) -> Response:
        """A stream of events. Raises ApiError 400, 422, or 500 for a version that is none."""
        kind, seconds = target.kind, integer(query, "timeoutSeconds")
        labels = parse_labels(query.get("labelSelector", ""))
        check_watch(query)
        fields = query.get("fieldSelector", "")
        if target.name:
            fields = ",".join(filter(None, (fields, f"metadata.name={target.name}")))
        matches = matcher_of(labels, parse_fields(kind, fields))
        send_initial = query.get("sendInitialEvents", "")
        since = _stored_version(query)
        bookmarks = query.get("allowWatchBookmarks") in TRUE
        wanted = WatchRequest(
            kind,
            target.namespace,
            matches,
            view_of(accept, kind, self.now()),
            since=since,
            initial=send_initial in TRUE if send_initial else since == 0,
            mark_end=send_initial in TRUE and bookmarks,
            bookmarks=bookmarks,
            seconds=seconds or random.uniform(1800, 3600),
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

    def _check_version(self, query: QueryParams) -> int:
        wanted = check_list_version(query)
        if wanted > self.store.version:
            raise too_large_version(wanted, self.store.version)
        return self.store.version

    def _continued(self, target: Target, token: str) -> tuple[int, str]:
        version, start = pages.read(token)
        if version < self.store.floor(target.kind):
            raise expired(
                "The provided continue parameter is too old to display a consistent list result. You can start "
                "a new list without the continue parameter, or use the continue token in this response to "
                "retrieve the remainder of the results."
            )
        return version, start


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


def _stored_version(query: QueryParams) -> int:
    """A resourceVersion that goes to the storage unchecked, which fails over a bad one."""
    text = query.get("resourceVersion", "")
    fault = version_fault(text)
    if fault:
        raise ApiError(500, "", fault)
    return int(text or 0)
