"""Runs a worker until it is told to stop. `lbr worker` and the container start here."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.envconfig import ClientConfig
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig

from core.errors import PoolsError
from worker.assembly import build_worker, world
from worker.attributes import register_search_attributes
from worker.settings import Settings

log = logging.getLogger("worker")


async def connect(settings: Settings) -> Client:
    """A client for the server that Temporal's environment or profile names. Raises PoolsError."""
    config = ClientConfig.load_client_connect_config()
    config.setdefault("target_host", "localhost:7233")
    runtime = None
    if settings.metrics_address:
        metrics = PrometheusConfig(bind_address=settings.metrics_address)
        runtime = Runtime(telemetry=TelemetryConfig(metrics=metrics))
    try:
        return await Client.connect(**config, data_converter=pydantic_data_converter, runtime=runtime)
    except RuntimeError as error:  # what the SDK raises for a connection that does not come about
        raise PoolsError(
            f"Temporal does not answer at {config['target_host']}", hint="check TEMPORAL_ADDRESS, or the profile"
        ) from error


async def serve(settings: Settings) -> None:
    """Work until SIGINT or SIGTERM; then let running steps end."""
    client = await connect(settings)
    added = await register_search_attributes(client)
    if added:
        log.info("registered search attributes: %s", ", ".join(added))
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with world(client, settings) as outside, build_worker(client, outside, settings):
        log.info("working on task queue %s of %s", "managed-node-pools", client.namespace)
        await stop.wait()
        log.info("stopping: running steps may end, the rest goes on in the next worker")


def main() -> None:
    """The process's entry. Ends with 0 after a requested stop, 1 when it could not start."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    code = 0
    try:
        asyncio.run(serve(Settings.load()))
    except PoolsError as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        code = error.exit_code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # the SDK may abort the interpreter's own exit


if __name__ == "__main__":
    main()
