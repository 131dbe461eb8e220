"""The embedded world as one process: the simulated cloud, a hollow node in each server, and the simulated cluster.

Where the sandbox has a real control plane, the hollow nodes join that, and there is no simulated cluster.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from sandbox.clock import RealClock
from sandbox.controlplane.access import Access
from sandbox.hetzner import HetznerCloud, ServerFacts, create_app, default_cloud, serve
from sandbox.hetzner.catalogue import SERVER_TYPE
from sandbox.hetzner.driver import driven
from sandbox.hollow.admin import create_app as hollow_app
from sandbox.hollow.machine import ServerSeen
from sandbox.hollow.nodes import HollowNodes
from sandbox.kubernetes.cluster import Cluster
from sandbox.kubernetes.serving import serve as serve_handles
from sandbox.kubernetes.serving import serve_cluster
from sandbox.layout import ClusterKind, Layout

log = logging.getLogger("sandbox.world")


def server_seen(facts: ServerFacts) -> ServerSeen:
    """A server as the machine inside it knows itself."""
    sold = SERVER_TYPE[facts.server_type]
    return ServerSeen(
        server_id=facts.id,
        name=facts.name,
        user_data=facts.user_data,
        public_ip=facts.public_ipv4 or "",
        server_type=facts.server_type,
        cores=sold.cores,
        memory_gb=sold.memory,
        disk_gb=sold.disk,
        location=facts.location,
        architecture=sold.architecture,
    )


class Wiring:
    """Boots a hollow node when a server runs, and ends it when the server stops or is gone."""

    def __init__(self, cloud: HetznerCloud, nodes: HollowNodes) -> None:
        self._ending: set[asyncio.Task[None]] = set()
        cloud.on_server_running(lambda facts: nodes.boot(server_seen(facts)))
        cloud.on_server_stopped(lambda facts: self._end(nodes.stopped(facts.id)))
        cloud.on_server_gone(lambda facts: self._end(nodes.gone(facts.id)))

    def _end(self, ending: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(ending)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


@asynccontextmanager
async def simulated(layout: Layout, clock: RealClock) -> AsyncIterator[str]:
    """Serve the simulated cluster and write its kubeconfig. Gives its authority's certificate, PEM."""
    cluster = Cluster(clock, layout.state("kubernetes"))
    async with serve_cluster(cluster, layout.ports().kubernetes, tls=True) as url:
        layout.write_secret(layout.kubeconfig, cluster.kubeconfig(url))
        yield cluster.authority.pem


@asynccontextmanager
async def real(layout: Layout) -> AsyncIterator[str]:
    """The authority's certificate of the control plane that runs beside this process."""
    yield Access(layout.state("control-plane")).authority.read_text()


def write_tokens(layout: Layout, cloud: HetznerCloud) -> None:
    """Write the cloud's tokens, for people and for the tests."""
    tokens = {
        "read_write": cloud.token("demo", "admin").value,
        "second": cloud.token("demo", "rotated").value,
        "read_only": cloud.token("demo", "viewer").value,
        "other_project": cloud.token("other", "admin").value,
    }
    layout.write_secret(layout.tokens, json.dumps(tokens, indent=2))


async def run(layout: Layout) -> None:
    """Serve until SIGINT or SIGTERM."""
    layout.make()
    ports, clock, stop = layout.ports(), RealClock(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    cloud = default_cloud(clock, layout.state("hetzner"))
    async with AsyncExitStack() as stack:
        kind = real(layout) if layout.kind is ClusterKind.REAL else simulated(layout, clock)
        authority = await stack.enter_async_context(kind)
        nodes = HollowNodes(clock, layout.state("kubernetes"), ca_pem=authority)
        await stack.enter_async_context(nodes)
        await stack.enter_async_context(serve_handles(hollow_app(nodes), ports.hollow))
        await stack.enter_async_context(driven(cloud))
        url = await stack.enter_async_context(serve(create_app(cloud), ports.hetzner))
        Wiring(cloud, nodes)
        write_tokens(layout, cloud)
        log.info("Hetzner Cloud at %s/v1, %s cluster", url, layout.kind)
        await stop.wait()


def main() -> None:
    """`python -m sandbox.world --dir FOLDER`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="the sandbox's folder")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    asyncio.run(run(Layout(parser.parse_args().dir)))


if __name__ == "__main__":
    main()
