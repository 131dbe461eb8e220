"""The cloud over HTTP: the API under `/v1`, and the sandbox's own levers beside it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from sandbox.hetzner.admin import admin_routes
from sandbox.hetzner.cloud import HetznerCloud
from sandbox.hetzner.connections import Connections
from sandbox.hetzner.driver import driven
from sandbox.hetzner.gateway import Gateway, Request


def create_app(cloud: HetznerCloud) -> Starlette:
    """The ASGI application. Its lifespan runs the driver of `cloud` and saves the state at the end.

    `app.state.connections` must be told of connections by the server (see `serve`) for resets to work.
    """

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with driven(cloud):
            yield

    connections = Connections()
    routes = [
        Mount("/v1", app=_Api(Gateway(cloud), connections)),
        Mount("/_sandbox/hetzner", routes=admin_routes(cloud)),
    ]
    app = Starlette(routes=routes, lifespan=lifespan)
    app.state.connections = connections
    return app


class _Api:
    """An ASGI application by itself, because a cut connection is no response that a framework could send."""

    def __init__(self, gateway: Gateway, connections: Connections) -> None:
        self._gateway = gateway
        self._connections = connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = HttpRequest(scope, receive)
        answer = self._gateway.handle(await _read(request))
        if answer.delay:
            # The one wait in real time: it is the patience of a real client that is being tested.
            await asyncio.sleep(answer.delay)
        if answer.cut:
            host, port = scope["client"]
            await self._connections.reset((host, port))
            return
        response = Response(answer.content, answer.status, answer.headers)
        await response(scope, receive, send)


async def _read(request: HttpRequest) -> Request:
    return Request(
        method=request.method,
        path=request.url.path.removeprefix("/v1"),
        query=request.url.query,
        url=str(request.url.replace(query="")),
        authorization=request.headers.get("authorization", ""),
        body=await request.body(),
    )
