"""Brings a sandbox up and takes it down: Temporal, the simulated world, a worker, and what a first user needs."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from core.errors import PoolsError
from core.sealing import PlatformKey
from sandbox.controlplane import ControlPlane, find
from sandbox.controlplane.plane import ORDER as plane_order
from sandbox.layout import CLUSTER, ORGANIZATION, ClusterKind, Layout, Ports
from sandbox.processes import Processes, wait_until

BIN = Path(sys.executable).parent
WORKS = b"working on task queue"  # what a worker's log says once it takes work
# The simulated cluster says that it is k3s; the real one is what kubeadm would have made.
JOINS = {ClusterKind.SIMULATED: "k3s", ClusterKind.REAL: "kubeadm"}


class Sandbox:
    """One sandbox folder and its processes. `say` is told what is being done.

    `cluster` is the kind to make it with; None keeps what the folder has, else takes the simulated one.
    """

    def __init__(
        self, layout: Layout, say: Callable[[str], None] = lambda text: None, cluster: ClusterKind | None = None
    ) -> None:
        self.layout = layout
        self.wanted = cluster
        self.processes = Processes(layout)
        self._say = say

    def up(self, *, furnished: bool = True) -> None:
        """Start what does not run. `furnished` gives it an organization and its cluster. Raises PoolsError."""
        real = self.wanted is ClusterKind.REAL or self.layout.kind is ClusterKind.REAL
        programs = find() if real else {}
        self.layout.settle(self.wanted)
        key = self._key()
        ports = self.layout.ports()
        running = self.processes.running()
        if "temporal" not in running:
            self._start_temporal(ports)
        if real:
            self._start_control_plane(programs)
        if "world" not in running:
            self._start_world(ports)
        self._write_profile(key, ports)
        if "worker" not in running:
            self.start_worker()
        if furnished:
            self._furnish()

    def down(self) -> list[str]:
        """End every process. The folder stays: the next `up` goes on where this one was."""
        return self.processes.stop(self.order)

    @property
    def order(self) -> tuple[str, ...]:
        """The names of the processes, as they end: those that use the others first."""
        plane = plane_order if self.layout.kind is ClusterKind.REAL else ()
        return ("worker", "world", *plane, "temporal")

    def lbr(self, *words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        """Run `lbr` against this sandbox, as a user would, with `typed` on its standard input."""
        environment = dict(os.environ) | {"LBR_CONFIG": str(self.layout.profile)}
        command = [str(BIN / "lbr"), *words]
        return subprocess.run(command, env=environment, input=typed, capture_output=True, text=True, check=False)

    def start_worker(self) -> None:
        """Start a worker and wait until it takes work: the log of an earlier one says that too."""
        self._say("starting the worker")
        log = self.layout.log("worker")
        before = _count(log, WORKS)
        self.processes.start("worker", [sys.executable, "-m", "worker.main"], self.worker_environment())
        wait_until("the worker", lambda: _count(log, WORKS) > before, 30, log)

    def worker_environment(self) -> dict[str, str]:
        """What a worker needs to serve this sandbox: only endpoints and paces differ from a real one."""
        ports = self.layout.ports()
        return {
            "TEMPORAL_ADDRESS": f"127.0.0.1:{ports.temporal}",
            "TEMPORAL_NAMESPACE": "default",
            "LBR_PLATFORM_KEY_FILE": str(self.layout.private_key),
            "HCLOUD_ENDPOINT": f"http://127.0.0.1:{ports.hetzner}/v1",
            "LBR_SERVER_LISTING_SECONDS": "5",
            "LBR_CLOUD_POLL_SECONDS": "0.5",
            "LBR_SCALE_DOWN_DELAY_AFTER_ADD_SECONDS": "10",
            "LBR_SCALE_DOWN_DELAY_AFTER_FAILURE_SECONDS": "10",
        }

    def _key(self) -> PlatformKey:
        if self.layout.private_key.exists():
            return PlatformKey.from_pem(self.layout.private_key.read_bytes())
        key = PlatformKey.generate()
        self.layout.write_secret(self.layout.private_key, key.to_pem().decode())
        return key

    def _start_temporal(self, ports: Ports) -> None:
        self._say("starting Temporal")
        command = [
            *(str(BIN / "temporal"), "server", "start-dev", "--ip", "127.0.0.1", "--ui-ip", "127.0.0.1"),
            *("--port", str(ports.temporal), "--ui-port", str(ports.ui), "--ui-disable-news-fetch"),
            *("--db-filename", str(self.layout.database), "--log-level", "error"),
            *("--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=normal"),
            *("--dynamic-config-value", "system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute=2"),
        ]
        self.processes.start("temporal", command, {})
        healthy = self._temporal("operator", "cluster", "health")
        wait_until("Temporal", lambda: b"SERVING" in _output(healthy), 30, self.layout.log("temporal"))

    def _temporal(self, *words: str) -> list[str]:
        address = f"127.0.0.1:{self.layout.ports().temporal}"
        return [str(BIN / "temporal"), *words, "--address", address]

    def _start_control_plane(self, programs: Mapping[str, Path]) -> None:
        self._say("starting the Kubernetes control plane")
        plane = ControlPlane(self.layout, self.processes, programs)
        plane.up()
        self.layout.write_secret(self.layout.kubeconfig, plane.access.kubeconfig(plane.url))

    def _start_world(self, ports: Ports) -> None:
        real = self.layout.kind is ClusterKind.REAL
        self._say("starting the simulated Hetzner Cloud and " + ("hollow nodes" if real else "cluster"))
        self.processes.start("world", [sys.executable, "-m", "sandbox.world", "--dir", str(self.layout.root)], {})
        wait_until(
            "the simulated world",
            lambda: (
                all(_listens(port) for port in (ports.hetzner, ports.kubernetes, ports.hollow))
                and self.layout.tokens.exists()
            ),
            30,
            self.layout.log("world"),
        )

    def _write_profile(self, key: PlatformKey, ports: Ports) -> None:
        lines = (
            "# Written by `lbr sandbox up`; lbr uses it when nothing else is configured.",
            "[profile.default]",
            f'organization = "{ORGANIZATION}"',
            f'temporal_address = "127.0.0.1:{ports.temporal}"',
            'temporal_namespace = "default"',
            f'public_key = "{key.public.to_text()}"',
            "sandbox = true",
        )
        self.layout.profile.write_text("\n".join(lines) + "\n")

    def _furnish(self) -> None:
        """Have the organization with its surface on, and its cluster; twice gives the same."""
        self._say(f"having organization {ORGANIZATION} and cluster {CLUSTER}")
        kubeconfig = str(self.layout.kubeconfig)
        for words in (
            ("org", "create", ORGANIZATION),
            ("cp", "register", CLUSTER, "--kubeconfig", kubeconfig, "--join", self.join),
        ):
            done = self.lbr(*words)
            if done.returncode != 0:
                raise PoolsError(
                    f"`lbr {' '.join(words)}` failed: {done.stderr.strip()}",
                    hint=f"look into {self.layout.log('worker')}",
                )

    @property
    def join(self) -> str:
        """How machines join the sandbox's cluster."""
        return JOINS[self.layout.kind or ClusterKind.SIMULATED]

    def facts(self) -> dict[str, object]:
        """What a person or a script wants to know of the sandbox."""
        ports, running = self.layout.ports(), self.processes.running()
        tokens = json.loads(self.layout.tokens.read_text()) if self.layout.tokens.exists() else {}
        return {
            "directory": str(self.layout.root),
            "running": sorted(running) == sorted(self.order),
            "processes": running,
            "organization": ORGANIZATION,
            "cluster": CLUSTER,
            "cluster_kind": str(self.layout.kind or ClusterKind.SIMULATED),
            "temporal_address": f"127.0.0.1:{ports.temporal}",
            "temporal_ui": f"http://127.0.0.1:{ports.ui}/namespaces/default/workflows",
            "hetzner": f"http://127.0.0.1:{ports.hetzner}/v1",
            "hollow_nodes": f"http://127.0.0.1:{ports.hollow}/_sandbox/hollow/nodes",
            "kubernetes": f"https://127.0.0.1:{ports.kubernetes}",
            "kubeconfig": str(self.layout.kubeconfig),
            "profile": str(self.layout.profile),
            "tokens": tokens,
        }


def _count(log: Path, words: bytes) -> int:
    return log.read_bytes().count(words) if log.exists() else 0


def _output(command: list[str]) -> bytes:
    return subprocess.run(command, capture_output=True, check=False).stdout


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
