"""Where a sandbox keeps what: one folder with its ports, keys, states, logs, profile and kubeconfig."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path

from core.errors import PoolsError

ORGANIZATION = "acme"
CLUSTER = "prod"


class ClusterKind(StrEnum):
    """Which Kubernetes API a sandbox has: the embedded one, or a real control plane."""

    SIMULATED = "simulated"
    REAL = "real"


@dataclass(frozen=True)
class Ports:
    """The loopback ports of a sandbox: chosen free at its first start, then kept, because kubeconfigs name them."""

    temporal: int
    ui: int
    hetzner: int
    kubernetes: int
    hollow: int
    etcd: int
    etcd_peer: int

    @classmethod
    def free(cls) -> Ports:
        """As many free ports as are needed."""
        held = [socket.create_server(("127.0.0.1", 0)) for _ in fields(cls)]
        numbers = [each.getsockname()[1] for each in held]
        for each in held:
            each.close()
        return cls(*numbers)


@dataclass(frozen=True)
class Layout:
    """A sandbox's folder."""

    root: Path

    @classmethod
    def default(cls, environment: Mapping[str, str] = os.environ) -> Layout:
        """The folder that is used when none is named; `lbr` looks there for a profile."""
        state = Path(environment.get("XDG_STATE_HOME") or Path.home() / ".local/state")
        return cls(state / "lbr/sandbox")

    @property
    def profile(self) -> Path:
        """What `lbr` reads: organization, Temporal's address, the public key."""
        return self.root / "profile.toml"

    @property
    def kubeconfig(self) -> Path:
        """For plain kubectl, and for registering the cluster."""
        return self.root / "kubeconfig"

    @property
    def private_key(self) -> Path:
        """The platform's private key, read by the worker alone."""
        return self.root / "platform-key.pem"

    @property
    def kind(self) -> ClusterKind | None:
        """Which cluster the sandbox was made with; None before it was."""
        path = self.root / "cluster"
        return ClusterKind(path.read_text()) if path.exists() else None

    def settle(self, kind: ClusterKind | None) -> ClusterKind:
        """Make the folder a sandbox with that cluster; None keeps what it is, else takes the simulated one.

        Raises PoolsError where it has the other one: its servers' machines could not join.
        """
        known = self.kind
        if known and kind and known is not kind:
            raise PoolsError(
                f"--cluster {kind}: the sandbox in {self.root} has a {known} cluster, which is fixed for its life",
                hint="name another folder with --dir, or remove this one after `lbr sandbox down`",
            )
        self.make()
        chosen = kind or known or ClusterKind.SIMULATED
        (self.root / "cluster").write_text(chosen)
        return chosen

    @property
    def tokens(self) -> Path:
        """The simulated cloud's tokens, by name."""
        return self.root / "tokens.json"

    @property
    def database(self) -> Path:
        """Temporal's database."""
        return self.root / "temporal.db"

    @property
    def processes(self) -> Path:
        """Which processes were started, so that `down` ends these and no others."""
        return self.root / "processes.json"

    def log(self, name: str) -> Path:
        """The log of one process."""
        return self.root / "logs" / f"{name}.log"

    def state(self, name: str) -> Path:
        """The state folder of one simulator."""
        return self.root / name

    def make(self) -> None:
        """Make the folders, readable by their owner alone: tokens and keys are in them."""
        for folder in (self.root, self.root / "logs", self.state("hetzner"), self.state("kubernetes")):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def ports(self) -> Ports:
        """The sandbox's ports, chosen at the first call."""
        path = self.root / "ports.json"
        if path.exists():
            return Ports(**json.loads(path.read_text()))
        ports = Ports.free()
        path.write_text(json.dumps(asdict(ports)))
        return ports

    def write_secret(self, path: Path, text: str) -> None:
        """Write a file that only its owner can read."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
