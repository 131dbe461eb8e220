"""How quick the sandbox is: simulators start, a large cluster loads and lists, and the demo runs on both clusters.

`make bench-sandbox` writes bench/results/sandbox.json. `--check` measures the simulators alone and writes nothing.
Either exits with 1 when something takes longer than it may. The demo on a real control plane is left out where that is
not built.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp

from bench.results import keep
from core.errors import PoolsError
from sandbox.clock import RealClock
from sandbox.controlplane import find
from sandbox.hetzner import create_app, default_cloud, serve
from sandbox.kubernetes import REAL, Cluster, serve_cluster
from sandbox.layout import ClusterKind

IN_FLIGHT = 20
NODES, PODS = 1000, 5000
AMOUNTS = {"cpu": "8", "memory": "16Gi", "pods": "110"}
# Seconds that each must stay below, on two cores.
LIMITS = {
    "simulated Hetzner Cloud starts": 1.0,
    "simulated cluster starts": 1.0,
    f"{NODES} nodes and {PODS} pods load": 30.0,
    f"one list of {PODS} pods": 0.5,
    "demo on the simulated cluster": 120.0,
    "demo on the real control plane": 120.0,
}


async def measure_simulators(folder: Path) -> dict[str, float]:
    """Start both simulators, load a large cluster, list its pods."""
    found: dict[str, float] = {}
    begun = time.monotonic()
    async with serve(create_app(default_cloud(RealClock(), folder / "hetzner")), 0):
        found["simulated Hetzner Cloud starts"] = time.monotonic() - begun
    begun = time.monotonic()
    cluster = Cluster(RealClock(), folder / "kubernetes", timing=REAL)
    async with serve_cluster(cluster, tls=True) as url:
        found["simulated cluster starts"] = time.monotonic() - begun
        headers = {"Authorization": f"Bearer {cluster.admin_token}"}
        trust = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=cluster.authority.pem))
        async with aiohttp.ClientSession(url, headers=headers, connector=trust, raise_for_status=True) as session:

            async def post(path: str, body: dict[str, Any]) -> None:
                async with session.post(path, json=body) as answer:
                    await answer.read()

            begun = time.monotonic()
            await _each(NODES, lambda number: post("/api/v1/nodes", _node(number)))
            await _each(PODS, lambda number: post("/api/v1/namespaces/default/pods", _pod(number)))
            found[f"{NODES} nodes and {PODS} pods load"] = time.monotonic() - begun
            begun = time.monotonic()
            async with session.get("/api/v1/pods") as answer:
                raw = await answer.read()
            found[f"one list of {PODS} pods"] = time.monotonic() - begun
            assert len(json.loads(raw)["items"]) == PODS
    return found


async def _each(count: int, work: Callable[[int], Awaitable[Any]]) -> None:
    """Do something for each number, several at a time."""
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await work(number)

    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))


def _node(number: int) -> dict[str, Any]:
    status = {"capacity": AMOUNTS, "allocatable": AMOUNTS, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"metadata": {"name": f"n{number}"}, "status": status}


def _pod(number: int) -> dict[str, Any]:
    requests = {"requests": {"cpu": "500m", "memory": "256Mi"}}
    spec = {"containers": [{"name": "c", "image": "i:1", "resources": requests}]}
    return {"metadata": {"name": f"p{number}", "labels": {"app": f"a{number % 50}"}}, "spec": spec}


def measure_demo(kind: ClusterKind) -> float:
    """Run the demo, which must hold."""
    begun = time.monotonic()
    environment = {**os.environ, "CLUSTER": str(kind), "DIR": "", "KEEP": ""}
    command = [sys.executable, "-m", "sandbox.demo"]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun


def measure(*, demo: bool) -> dict[str, float]:
    """The simulators, and the demo if it is wanted, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure_simulators(Path(folder)))
    if not demo:
        return found
    found["demo on the simulated cluster"] = measure_demo(ClusterKind.SIMULATED)
    try:
        find()
    except PoolsError as error:
        print(f"the demo on a real control plane was left out: {error.message}", file=sys.stderr)
    else:
        found["demo on the real control plane"] = measure_demo(ClusterKind.REAL)
    return found


def main() -> int:
    """Measure, print, and write or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only the simulators, and nothing is written")
    given = parser.parse_args()
    found = {name: round(seconds, 2) for name, seconds in measure(demo=not given.check).items()}
    for name, seconds in found.items():
        print(f"{name:<40} {seconds:7.2f} s, must stay below {LIMITS[name]:g} s")
    if not given.check:
        keep("sandbox", {"seconds": found})
    late = [name for name, seconds in found.items() if seconds >= LIMITS[name]]
    if late:
        print(f"too slow: {', '.join(late)}", file=sys.stderr)
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
