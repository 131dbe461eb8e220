"""Runs an application on a loopback port inside the running event loop."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sandbox.hetzner.connections import Connections

# Longer than any client keeps an idle connection, so that a reuse never meets a connection being closed.
KEEP_ALIVE_SECONDS = 120


class _Server(uvicorn.Server):
    """Leaves the process's signal handlers to their owner."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def serve(app: Starlette, port: int = 0) -> AsyncIterator[str]:
    """Yield the base URL, such as `http://127.0.0.1:40123`, while the app runs; port 0 takes a free one.

    Raises `OSError` when the port is taken, `RuntimeError` when the app fails to start.
    """
    listener = socket.create_server(("127.0.0.1", port))
    # Without it each reply's body waits 40 ms for the client to acknowledge the head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    config = uvicorn.Config(
        app,
        http=_protocol(app.state.connections),
        log_level="warning",
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=1,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]), name="hetzner server")
    try:
        await _started(server, task)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listener.close()


async def _started(server: uvicorn.Server, task: asyncio.Task[None]) -> None:
    while not server.started:
        if task.done():
            raise RuntimeError("the server ended before it began")
        await asyncio.sleep(0.005)


def _protocol(connections: Connections) -> type[HttpToolsProtocol]:
    class Registering(HttpToolsProtocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            connections.opened(transport)
            super().connection_made(transport)

        def connection_lost(self, exc: Exception | None) -> None:
            connections.closed(self.transport)
            super().connection_lost(exc)

    return Registering
