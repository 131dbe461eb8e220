"""Runs an application on a loopback port inside the running event loop.

It drives uvicorn's protocol directly: `uvicorn.Server` takes the process's signals for itself and needs a
fifth of a second to stop, which a suite with a fresh server in each test would feel.
"""

import asyncio
import contextlib
import functools
import socket
from collections.abc import AsyncIterator

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from sandbox.hetzner.connections import Connections

# Longer than any client keeps an idle connection, so that a reuse never meets a connection being closed.
KEEP_ALIVE_SECONDS = 120
# How long requests that are still being answered may hold up the end.
GRACE_SECONDS = 1.0


@contextlib.asynccontextmanager
async def serve(app: Starlette, port: int = 0) -> AsyncIterator[str]:
    """Yield the base URL, such as `http://127.0.0.1:40123`, while the app runs; port 0 takes a free one.

    `app.state.connections` is told of every connection. Raises `OSError` when the port is taken,
    `RuntimeError` when the app fails to start.
    """
    connections: Connections = app.state.connections
    with socket.create_server(("127.0.0.1", port)) as listener:
        # Without it each reply's body waits 40 ms for the client to acknowledge the head.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_keep_alive=KEEP_ALIVE_SECONDS)
        config.load()
        async with _lifespan(config) as app_state:
            state = ServerState()
            protocol = functools.partial(_protocol(connections), config=config, server_state=state, app_state=app_state)
            server = await asyncio.get_running_loop().create_server(protocol, sock=listener)
            try:
                yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            finally:
                server.close()
                await _finish(state)
                connections.close_all()


@contextlib.asynccontextmanager
async def _lifespan(config: uvicorn.Config) -> AsyncIterator[dict[str, object]]:
    lifespan = config.lifespan_class(config)
    await lifespan.startup()
    if lifespan.should_exit:
        raise RuntimeError("the application did not start")
    try:
        yield lifespan.state
    finally:
        await lifespan.shutdown()


async def _finish(state: ServerState) -> None:
    """Let requests that are being answered come to their end, but not for long."""
    if state.tasks:
        _, late = await asyncio.wait(state.tasks, timeout=GRACE_SECONDS)
        for task in late:
            task.cancel()


def _protocol(connections: Connections) -> type[HttpToolsProtocol]:
    class Registering(HttpToolsProtocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            connections.opened(transport)
            super().connection_made(transport)

        def connection_lost(self, exc: Exception | None) -> None:
            connections.closed(self.transport)
            super().connection_lost(exc)

    return Registering
