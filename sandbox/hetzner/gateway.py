"""The door of the API: who asks, whether they may, what shall go wrong, and the record of it all.

The order of checks is the real one: an unknown path before anything, then the token, its budget, the method,
a read-only token, the JSON of the body. Only then a route looks at the request.
"""

import json
import secrets
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Any

from sandbox.hetzner import ratelimit, routes
from sandbox.hetzner.cloud import HetznerCloud
from sandbox.hetzner.endpoint import Call, Query, Reply
from sandbox.hetzner.errors import STATUS_OF_CODE, ApiError
from sandbox.hetzner.faults import Fault
from sandbox.hetzner.records import Bucket, Project, Token
from sandbox.hetzner.requestlog import Entry

# What is left to those who bring no valid token; the real cloud counts them too.
ANONYMOUS_LIMIT = 3600
_PROXY_PAGE = "<html><head><title>{0}</title></head><body><center><h1>{0}</h1></center></body></html>"


@dataclass(frozen=True)
class Request:
    """`path` is what follows `/v1`, `url` the address of the request without its query."""

    method: str
    path: str
    query: str
    url: str
    authorization: str
    body: bytes


@dataclass(frozen=True)
class Answer:
    """What goes over the wire: cut the connection, or send this after `delay` real seconds."""

    status: int
    content: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False


@dataclass
class _Visit:
    """One request on its way, filled in as it passes the checks."""

    request: Request
    at: datetime
    found: routes.Found | None = None
    project: Project | None = None
    token: Token | None = None
    fault: Fault | None = None


class Gateway:
    """Answers requests to one cloud."""

    def __init__(self, cloud: HetznerCloud) -> None:
        self._cloud = cloud
        self._anonymous = Bucket(level=ANONYMOUS_LIMIT, at=cloud.clock.now())

    def handle(self, request: Request) -> Answer:
        self._cloud.settle()
        visit = _Visit(request, self._cloud.clock.now(), routes.find(request.path))
        self._identify(visit)
        in_budget = self._take(visit)
        try:
            reply = self._pass(visit, in_budget)
        except ApiError as error:
            reply = Reply(error.status, error.body())
        answer = self._answer(visit, reply)
        self._record(visit, answer)
        if request.method != "GET":
            self._cloud.settle()
            self._cloud.changed()
        return answer

    def _identify(self, visit: _Visit) -> None:
        scheme, _, value = visit.request.authorization.partition(" ")
        known = self._cloud.authenticate(value.strip()) if scheme.lower() == "bearer" else None
        if known is not None:
            visit.project, visit.token = known

    def _take(self, visit: _Visit) -> bool:
        return ratelimit.take(*self._budget(visit), visit.at)

    def _budget(self, visit: _Visit) -> tuple[Bucket, int]:
        if visit.project is None:
            return self._anonymous, ANONYMOUS_LIMIT
        return visit.project.bucket, visit.project.limits.requests_per_hour

    def _pass(self, visit: _Visit, in_budget: bool) -> Reply:
        if visit.found is None:
            raise ApiError("not_found", "api route not found")
        project, token = _known(visit)
        if not in_budget:
            limit, shown = project.limits.requests_per_hour, token.value[:8]
            raise ApiError(
                "rate_limit_exceeded", f"Limit of '{limit}' requests per hour for token '{shown}...' reached."
            )
        method = visit.request.method
        endpoint = visit.found.endpoint(method)
        if token.access == "read_only" and method != "GET":
            raise ApiError("token_readonly", "not allowed because token is readonly")
        body = _json_body(visit.request)
        visit.fault = self._cloud.world.faults.on_route(method, visit.found.template, visit.request.path)
        _fail_before(visit.fault)
        scope = self._cloud.scope(project)
        query = Query.parse(visit.request.query)
        return endpoint.handler(Call(scope, visit.found.ids, query, body, visit.request.url))

    def _answer(self, visit: _Visit, reply: Reply) -> Answer:
        headers = {
            "X-Correlation-Id": secrets.token_hex(16),
            "Access-Control-Allow-Origin": "*",
            **ratelimit.headers(*self._budget(visit)),
            **reply.headers,
        }
        fault = visit.fault
        if fault is None:
            return _json_answer(reply, headers)
        if fault.kind == "reset":
            return Answer(0, cut=True)
        if fault.kind == "html":
            return _proxy_page(fault)
        if fault.kind == "error" and fault.after_commit:
            error = _error_of(fault)
            return _json_answer(Reply(error.status, error.body()), headers)
        return _json_answer(reply, headers, fault.seconds)

    def _record(self, visit: _Visit, answer: Answer) -> None:
        self._cloud.log.add(
            Entry(
                at=visit.at,
                method=visit.request.method,
                path=visit.request.path,
                query=visit.request.query,
                route="" if visit.found is None else visit.found.template,
                status=answer.status,
                project=None if visit.project is None else visit.project.name,
                token=None if visit.token is None else visit.token.name,
            )
        )


def _known(visit: _Visit) -> tuple[Project, Token]:
    if not visit.request.authorization:
        raise ApiError("unauthorized", "token is required")
    if visit.project is None or visit.token is None:
        raise ApiError("unauthorized", "the token you have provided is invalid")
    return visit.project, visit.token


def _json_body(request: Request) -> dict[str, Any]:
    """An empty body stands for an empty object."""
    if not request.body:
        return {}
    try:
        body = json.loads(request.body)
    # A deeply nested body exhausts the parser's recursion; it is as unreadable as a broken one.
    except (ValueError, RecursionError):
        raise ApiError("json_error", "invalid JSON in request body") from None
    if not isinstance(body, dict):
        raise ApiError("json_error", "request body must be a JSON object")
    return body


def _fail_before(fault: Fault | None) -> None:
    """Raises what a fault says when it strikes before the request is carried out."""
    if fault is None or fault.after_commit or fault.kind == "slow":
        return
    raise _error_of(fault)


def _error_of(fault: Fault) -> ApiError:
    status = fault.status or STATUS_OF_CODE.get(fault.code, 500)
    return ApiError(fault.code, fault.message or "simulated fault", fault.details, status)


def _proxy_page(fault: Fault) -> Answer:
    """What a load balancer in front of the API sends: neither JSON nor the API's headers."""
    status = fault.status or 502
    page = _PROXY_PAGE.format(f"{status} {HTTPStatus(status).phrase}").encode()
    return Answer(status, page, {"Content-Type": "text/html"}, fault.seconds)


def _json_answer(reply: Reply, headers: dict[str, str], delay: float = 0.0) -> Answer:
    if reply.body is None:
        return Answer(reply.status, b"", headers, delay)
    content = json.dumps(reply.body, separators=(",", ":")).encode()
    return Answer(reply.status, content, {"Content-Type": "application/json", **headers}, delay)
