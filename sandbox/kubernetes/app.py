"""The ASGI application: authenticates, authorises and answers each request, as kube-apiserver does."""

import asyncio

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from sandbox.kubernetes import discovery, openapi, reviews
from sandbox.kubernetes.admin import routes as admin_routes
from sandbox.kubernetes.authorization import Access, allows, refusal
from sandbox.kubernetes.bodies import Body
from sandbox.kubernetes.cluster import Cluster, LoggedRequest
from sandbox.kubernetes.errors import ApiError, method_not_allowed, unknown_path
from sandbox.kubernetes.identity import ANONYMOUS, User
from sandbox.kubernetes.kinds import NAMESPACES, PODS, SERVICE_ACCOUNTS
from sandbox.kubernetes.options import TRUE, check_create
from sandbox.kubernetes.paths import Target, parse
from sandbox.kubernetes.pod_accounts import DEFAULT
from sandbox.kubernetes.reading import Reader, json_response
from sandbox.kubernetes.subresources import Subresources, subresources_of
from sandbox.kubernetes.version import version_info
from sandbox.kubernetes.writing import Writer, typed

_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_HEALTH = ("/healthz", "/readyz", "/livez")
_ACCOUNT_WAITS, _ACCOUNT_WAIT = 10, 0.1  # as often, and about as long, as the real server looks again


def create_app(cluster: Cluster) -> Starlette:
    """The API of a cluster, and under `/_sandbox/kubernetes` the handles of the sandbox.

    The cluster's controllers are the caller's to start and close.
    """
    server = ApiServer(cluster)
    app = Starlette(routes=[*admin_routes(cluster), Route("/{path:path}", server.answer, methods=_METHODS)])
    app.state.cluster = cluster
    return app


class ApiServer:
    """Answers requests for one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._reader = Reader(cluster.store, cluster.hub, cluster.clock.now)
        self._subresources = Subresources(cluster.registry, cluster.accounts)
        self._writer = Writer(cluster.registry, self._subresources)

    async def answer(self, request: Request) -> Response:
        """One request, from authentication to the log."""
        user = ANONYMOUS
        try:
            user = self._user(request)
            response = await self._spoilt(request, user) or await self._proper(request, user)
        except ApiError as error:
            response = Response(msgspec.json.encode(error.body()), error.code, dict(error.headers), "application/json")
        self._log(request, user, response.status_code)
        return response

    async def _spoilt(self, request: Request, user: User) -> Response | None:
        """The answer of a fault that was asked for; None when there is none."""
        fault = self.cluster.faults.take(request.method, request.url.path)
        if fault is None:
            return None
        await self.cluster.clock.sleep(fault.delay)
        if fault.code == 0 or fault.after_commit:
            proper = await self._proper(request, user)
            return proper if fault.code == 0 else fault.response()
        return fault.response()

    async def _proper(self, request: Request, user: User) -> Response:
        body = Body(await request.body(), request.headers.get("content-type", "").partition(";")[0].strip())
        target = parse(request.url.path)
        if target and target.kind is PODS and request.method == "POST":
            await self._account(target.namespace)
        return self._public(request) or self._answer(request, target, user, body)

    async def _account(self, namespace: str) -> None:
        """Wait a little for the service account of a new namespace, which its first pods may come before."""
        for _ in range(_ACCOUNT_WAITS):
            store = self.cluster.store
            if store.get(SERVICE_ACCOUNTS, namespace, DEFAULT) or not store.get(NAMESPACES, "", namespace):
                return
            await asyncio.sleep(_ACCOUNT_WAIT)

    def _user(self, request: Request) -> User:
        """By client certificate where TLS showed one, else by bearer token."""
        header, peer = request.headers.get("authorization"), request.scope.get("state", {}).get("peer")
        return self.cluster.authenticator.user(header, peer, self.cluster.clock.now())

    def _public(self, request: Request) -> Response | None:
        """What needs no permission: version, health, and the authority that k3s agents fetch."""
        path = request.url.path
        if request.method != "GET":
            return None
        if path in ("/version", "/version/"):
            return json_response(msgspec.json.encode(version_info(self.cluster.version)))
        if path in _HEALTH:
            return PlainTextResponse("ok")
        if path == "/cacerts":
            return PlainTextResponse(self.cluster.authority.pem)
        return None

    def _answer(self, request: Request, target: Target | None, user: User, body: Body) -> Response:
        if target is None:
            return self._document(request, user, body)
        access = _access(request, target)
        if not allows(self.cluster.store, user, access):
            raise refusal(user, access)
        return self._act(request, target, user, body)

    def _document(self, request: Request, user: User, body: Body) -> Response:
        path = request.url.path.rstrip("/")
        if user is ANONYMOUS:
            message = f'forbidden: User "system:anonymous" cannot {request.method.lower()} path "{path}"'
            raise ApiError(403, "Forbidden", message, {})
        review = reviews.type_at(path)
        if review is not None:
            if request.method != "POST":
                raise method_not_allowed()
            check_create(request.query_params)
            sent = typed(review, body, request.query_params)
            return json_response(msgspec.json.encode(reviews.answer(self.cluster.store, review, sent, user)), 201)
        found = _described(path)
        if found is not None:
            return json_response(msgspec.json.encode(found))
        if not discovery.is_known_root(path):
            return PlainTextResponse("404 page not found\n", 404)
        raise unknown_path()

    def _act(self, request: Request, target: Target, user: User, body: Body) -> Response:
        query, writer = request.query_params, self._writer
        _check_method(request.method, target)
        match request.method:
            case "GET":
                return self._read(request, target)
            case "POST":
                return writer.post(target, body, query, user)
            case "DELETE":
                return writer.delete(target, body, query, user)
            case "PUT":
                return writer.put(target, body, query, user)
            case "PATCH":
                return writer.patch(target, body, query, user)
        raise method_not_allowed()

    def _read(self, request: Request, target: Target) -> Response:
        query, accept = request.query_params, request.headers.get("accept", "")
        if target.watch or query.get("watch") in TRUE:
            return self._reader.watch(target, query, accept)
        if target.subresource not in ("", "status", "approval"):
            return self._subresources.get(target)
        return self._reader.one(target, query, accept) if target.name else self._reader.many(target, query, accept)

    def _log(self, request: Request, user: User, code: int) -> None:
        path, query = request.url.path, request.url.query
        self.cluster.requests.append(LoggedRequest(request.method, path, query, user.name, code))
        target = parse(path)
        what = target.kind.resource if target else path
        if target and target.subresource:
            what += f"/{target.subresource}"
        self.cluster.counts[f"{request.method} {what} {code}"] += 1


def _check_method(method: str, target: Target) -> None:
    """Raise ApiError 404 for a subresource that the kind has not, 405 for a method that the path has not."""
    if target.subresource:
        methods = subresources_of(target.kind).get(target.subresource)
        if methods is None:
            raise unknown_path()
    elif target.name:
        methods = ("GET", "PUT", "PATCH", "DELETE")
    elif target.kind is NAMESPACES:
        methods = ("GET", "POST")
    elif target.kind.namespaced and not target.namespace:
        methods = ("GET",)
    else:
        methods = ("GET", "POST", "DELETE")
    if method not in methods:
        raise method_not_allowed()


def _described(path: str) -> dict[str, object] | None:
    if path == "/openapi/v3":
        return openapi.index()
    if path.startswith("/openapi/v3/"):
        return openapi.document(path.removeprefix("/openapi/v3/"))
    return discovery.document(path)


def _access(request: Request, target: Target) -> Access:
    resource = target.kind.plural + (f"/{target.subresource}" if target.subresource else "")
    return Access(_verb(request, target), target.kind.group, resource, target.namespace, target.name)


def _verb(request: Request, target: Target) -> str:
    if request.method == "GET":
        watch = target.watch or request.query_params.get("watch") in TRUE
        return "watch" if watch else "get" if target.name else "list"
    if request.method == "DELETE":
        return "delete" if target.name else "deletecollection"
    return _VERBS[request.method]
