"""Serves a cluster's API on a loopback port, plain or with TLS, from inside a running event loop.

kubectl sends a bearer token over TLS only. With TLS, kubelets show their client certificates in the
handshake, as they do to a real API server.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sandbox.kubernetes.app import create_app
from sandbox.kubernetes.cluster import Cluster

_LOOPBACK = "127.0.0.1"


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
    listener = socket.create_server((_LOOPBACK, port), backlog=2048)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
        http=_PeerProtocol,
        ssl_certfile=tls_dir / "server.pem" if tls_dir else None,
        ssl_ca_certs=str(tls_dir / "ca.pem") if tls_dir else None,
        ssl_cert_reqs=ssl.CERT_OPTIONAL,
    )
    server = uvicorn.Server(config)
    # `_serve`, because `serve` would take the signal handlers of the embedding process.
    task = asyncio.get_running_loop().create_task(server._serve([listener]))
    try:
        while not server.started:
            if task.done():
                task.result()
            await asyncio.sleep(0.005)
        scheme = "https" if tls_dir else "http"
        yield f"{scheme}://{_LOOPBACK}:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def serve_cluster(cluster: Cluster, port: int = 0, tls: bool = False) -> AsyncIterator[str]:
    """Run a cluster with its controllers and its API; gives the URL."""
    await cluster.start()
    try:
        async with serve(create_app(cluster), port, cluster.tls_files() if tls else None) as url:
            yield url
            cluster.hub.cut()
    finally:
        await cluster.close()
