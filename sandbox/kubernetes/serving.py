"""Serves a cluster's API on a loopback port, plain or with TLS, from inside a running event loop.

kubectl sends a bearer token over TLS only. With TLS, kubelets show their client certificates in the
handshake, as they do to a real API server. uvicorn's protocol is driven directly: its server would take the
process's signals and needs a fifth of a second to stop.
"""

import asyncio
import functools
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from sandbox.kubernetes.app import create_app
from sandbox.kubernetes.cluster import Cluster

_LOOPBACK = "127.0.0.1"
_KEEP_ALIVE = 120  # seconds; longer than clients keep idle connections, so that a reuse meets no close
_GRACE = 1.0  # seconds that requests under way may hold up the end


class _PeerProtocol(HttpToolsProtocol):
    """Passes the client certificate of a connection on to the application, as `scope["state"]["peer"]`."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        tls = cast("ssl.SSLObject | None", transport.get_extra_info("ssl_object"))
        if tls is not None:
            self.app_state = self.app_state | {"peer": tls.getpeercert(binary_form=True)}


@asynccontextmanager
async def serve(app: Starlette, port: int = 0, tls_dir: Path | None = None) -> AsyncIterator[str]:
    """Serve `app` on 127.0.0.1 and give its URL; port 0 takes a free one.

    `tls_dir` holds `server.pem` (certificate and key) and `ca.pem`. Raises OSError when the port is taken.
    """
    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off", timeout_keep_alive=_KEEP_ALIVE)
    config.load()
    state = ServerState()
    protocol = functools.partial(_PeerProtocol, config=config, server_state=state, app_state={})
    listener = _listener(port)
    tls = _tls(tls_dir) if tls_dir else None
    server = await asyncio.get_running_loop().create_server(protocol, sock=listener, ssl=tls, backlog=2048)
    try:
        scheme = "https" if tls else "http"
        yield f"{scheme}://{_LOOPBACK}:{listener.getsockname()[1]}"
    finally:
        server.close()
        await _finish(state)


def _listener(port: int) -> socket.socket:
    """A bound socket that says it is TCP: only on those does asyncio switch off Nagle's delay of 40 ms."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_LOOPBACK, port))
    except OSError:
        listener.close()
        raise
    return listener


def _tls(folder: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(folder / "ca.pem"))
    context.load_cert_chain(folder / "server.pem")
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


async def _finish(state: ServerState) -> None:
    """Let requests come to their end, but not for long; then close what is still open."""
    if state.tasks:
        _, late = await asyncio.wait(state.tasks, timeout=_GRACE)
        for task in late:
            task.cancel()
    for connection in list(state.connections):
        transport = getattr(connection, "transport", None)
        if transport is not None:
            transport.abort()


@asynccontextmanager
async def serve_cluster(cluster: Cluster, port: int = 0, tls: bool = False) -> AsyncIterator[str]:
    """Run a cluster with its controllers and its API; gives the URL."""
    await cluster.start()
    try:
        async with serve(create_app(cluster), port, cluster.tls_files() if tls else None) as url:
            try:
                yield url
            finally:
                cluster.hub.cut()
    finally:
        await cluster.close()
