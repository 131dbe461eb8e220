"""The embedded world as one process: the simulated cloud, the simulated cluster, and a hollow node in each server."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from sandbox.clock import RealClock
from sandbox.hetzner import HetznerCloud, ServerFacts, create_app, default_cloud, serve
from sandbox.hetzner.catalogue import SERVER_TYPE
from sandbox.hetzner.driver import driven
from sandbox.hollow.admin import routes
from sandbox.hollow.machine import ServerSeen
from sandbox.hollow.nodes import HollowNodes
from sandbox.kubernetes.cluster import Cluster
from sandbox.kubernetes.serving import serve_cluster
from sandbox.layout import Layout

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


def write_access(layout: Layout, cloud: HetznerCloud, cluster: Cluster, url: str) -> None:
    """Write the kubeconfig and the cloud's tokens, for people and for the tests."""
    layout.write_secret(layout.kubeconfig, cluster.kubeconfig(url))
    tokens = {
        "read_write": cloud.token("demo", "admin").value,
        "second": cloud.token("demo", "rotated").value,
        "read_only": cloud.token("demo", "viewer").value,
        "other_project": cloud.token("other", "admin").value,
    }
    layout.write_secret(layout.tokens, json.dumps(tokens, indent=2))


async def run(layout: Layout) -> None:
    """Serve both simulators until SIGINT or SIGTERM."""
    layout.make()
    ports, clock, stop = layout.ports(), RealClock(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    cloud = default_cloud(clock, layout.state("hetzner"))
    cluster = Cluster(clock, layout.state("kubernetes"))
    nodes = HollowNodes(clock, layout.state("kubernetes"), ca_pem=cluster.authority.pem)
    async with (
        serve_cluster(cluster, ports.kubernetes, tls=True, extra=routes(nodes)) as api,
        nodes,
        driven(cloud),
        serve(create_app(cloud), ports.hetzner) as hetzner,
    ):
        Wiring(cloud, nodes)
        write_access(layout, cloud, cluster, api)
        log.info("Hetzner Cloud at %s/v1, Kubernetes at %s", hetzner, api)
        await stop.wait()


def main() -> None:
    """`python -m sandbox.world --dir FOLDER`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="the sandbox's folder")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    asyncio.run(run(Layout(parser.parse_args().dir)))


if __name__ == "__main__":
    main()
