"""Starts and stops a real control plane in a sandbox's folder, and gives it what installers give a new cluster."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandbox.controlplane.access import Access
from sandbox.controlplane.commands import commands
from sandbox.kubernetes.bootstrap_roles import bindings
from sandbox.kubernetes.timing import SANDBOX, Timing
from sandbox.layout import Layout
from sandbox.processes import Processes, wait_until

START_S = 60.0  # 4 s on an idle machine
ORDER = ("kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd")  # how they end
_TIMEOUT_S = 10.0


class ControlPlane:
    """One control plane. Its processes are the sandbox's, so that the sandbox ends them."""

    def __init__(
        self, layout: Layout, processes: Processes, programs: Mapping[str, Path], timing: Timing = SANDBOX
    ) -> None:
        ports = layout.ports()
        self.url = f"https://127.0.0.1:{ports.kubernetes}"
        self.access = Access(layout.state("control-plane"))
        self._layout = layout
        self._processes = processes
        self._etcd = f"http://127.0.0.1:{ports.etcd}"
        self._programs = programs
        self._timing = timing

    def up(self) -> None:
        """Start what does not run and wait until it answers. Raises PoolsError naming the log that tells why not."""
        self.access.make()
        lines = commands(self._programs, self._layout, self.access, self._timing)
        running = self._processes.running()
        for name in ("etcd", "kube-apiserver"):
            if name not in running:
                self._processes.start(name, lines[name], {})
        wait_until("kube-apiserver", self._is_ready, START_S, self._layout.log("kube-apiserver"))
        for binding in bindings():
            self._have("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
        for name in ("kube-controller-manager", "kube-scheduler"):
            if name not in running:
                self._processes.start(name, lines[name], {})
        # Pods that are made before would be turned away: nobody has made their service account yet.
        log = self._layout.log("kube-controller-manager")
        wait_until("kube-controller-manager", self._has_default_account, START_S, log)

    def down(self) -> None:
        """End its processes."""
        self._processes.stop(ORDER)

    def compact(self) -> None:
        """Let etcd forget every version but the present one, as the API server does every five minutes."""
        status = _answer(urllib.request.Request(f"{self._etcd}/v3/maintenance/status", b"{}"))
        body = json.dumps({"revision": status["header"]["revision"], "physical": True}).encode()
        _answer(urllib.request.Request(f"{self._etcd}/v3/kv/compaction", body))

    def _is_ready(self) -> bool:
        try:
            return self._ask("GET", "/readyz") is not None
        except OSError:
            return False

    def _has_default_account(self) -> bool:
        try:
            return self._ask("GET", "/api/v1/namespaces/default/serviceaccounts/default") is not None
        except OSError:
            return False

    def _have(self, path: str, body: dict[str, Any]) -> None:
        try:
            self._ask("POST", path, body)
        except urllib.error.HTTPError as error:
            if error.code != 409:
                raise

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.access.token()}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        context = ssl.create_default_context(cafile=str(self.access.authority))
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=context) as answer:
            read: bytes = answer.read()
            return read


def _answer(request: urllib.request.Request) -> dict[str, Any]:
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
        read: dict[str, Any] = json.load(answer)
        return read
