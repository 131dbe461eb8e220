"""The command lines of the control plane's programs: loopback only, and as an installer sets them where it matters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sandbox.controlplane.access import Access
from sandbox.kubernetes.timing import Timing
from sandbox.layout import Layout

_ISSUER = "https://kubernetes.default.svc"


def commands(programs: Mapping[str, Path], layout: Layout, access: Access, timing: Timing) -> dict[str, list[str]]:
    """The command line of each program."""
    ports = layout.ports()
    client, peer = f"http://127.0.0.1:{ports.etcd}", f"http://127.0.0.1:{ports.etcd_peer}"
    url = f"https://127.0.0.1:{ports.kubernetes}"
    manager, scheduler = "kube-controller-manager", "kube-scheduler"
    flags: dict[str, dict[str, object]] = {
        "etcd": {
            "data-dir": layout.state("control-plane") / "etcd",
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"default={peer}",
            "unsafe-no-fsync": "true",  # a sandbox outlives its processes, not its machine
            "log-level": "error",
        },
        "kube-apiserver": {
            "etcd-servers": client,
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "secure-port": ports.kubernetes,
            "tls-cert-file": access.server,
            "tls-private-key-file": access.server,
            "client-ca-file": access.authority,
            "token-auth-file": access.tokens,
            "enable-bootstrap-token-auth": "true",
            "authorization-mode": "Node,RBAC",
            "enable-admission-plugins": "NodeRestriction",
            "service-account-issuer": _ISSUER,
            "service-account-key-file": access.accounts_key,
            "service-account-signing-key-file": access.accounts_key,
            "service-cluster-ip-range": "10.96.0.0/16",
            "endpoint-reconciler-type": "none",
            "allow-privileged": "true",
        },
        manager: {
            "kubeconfig": access.component_kubeconfig(url, manager),
            "secure-port": 0,
            "leader-elect": "false",
            "use-service-account-credentials": "true",
            "service-account-private-key-file": access.accounts_key,
            "root-ca-file": access.authority,
            "cluster-signing-cert-file": access.authority,
            "cluster-signing-key-file": access.authority_key,
            "node-monitor-period": _duration(timing.node_monitor_period),
            "node-monitor-grace-period": _duration(timing.node_monitor_grace),
            "controllers": "*,bootstrap-signer-controller,token-cleaner-controller",
        },
        scheduler: {
            "kubeconfig": access.component_kubeconfig(url, scheduler),
            "secure-port": 0,
            "leader-elect": "false",
        },
    }
    return {
        name: [str(programs[name]), *(f"--{flag}={value}" for flag, value in given.items())]
        for name, given in flags.items()
    }


def _duration(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"
