"""A cluster of either kind on a loopback port, with the real client and kubectl pointed at it."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml
from kubernetes.aio import client

from core.calls import JoinMethod
from sandbox.clock import RealClock
from sandbox.controlplane import ControlPlane
from sandbox.hollow import HollowNodes, ServerSeen
from sandbox.kubernetes import Cluster, Timing, serve_cluster
from tests.wiping import wipe

T = TypeVar("T")
FAST = Timing(
    boot=0.05,
    join=0.05,
    network=0.05,
    reboot=0.2,
    flap=0.5,
    lease_renew=0.2,
    pod_start=0.02,
    pod_stop=0.02,
    job_run=0.1,
    node_monitor_period=0.1,
    node_monitor_grace=1.0,
    pod_gc_period=0.1,
    pod_gc_quarantine=0.2,
    token_cleaner_period=0.1,
    sweep=0.1,
)
# A real controller manager looks at its nodes in whole seconds, about.
PLANE_TIMING = replace(FAST, node_monitor_period=0.5, node_monitor_grace=4.0)


async def eventually(check: Callable[[], Awaitable[T]], seconds: float = 10.0) -> T:
    """Wait until `check` gives something true, and give that. Fails at the deadline."""
    end = time.monotonic() + seconds
    while True:
        found = await check()
        if found:
            return found
        if time.monotonic() > end:
            pytest.fail(f"still {found!r} after {seconds} s")
        await asyncio.sleep(0.02)


@dataclass
class World:
    """A running cluster with its clients. `simulator` is there where the cluster is simulated."""

    url: str
    token: str
    ca_pem: str
    version: str
    join: JoinMethod
    compact: Callable[[], None]
    simulator: Cluster | None
    api: client.ApiClient
    core: client.CoreV1Api
    nodes: HollowNodes
    kubeconfig: Path

    @property
    def cluster(self) -> Cluster:
        """The simulator, for tests that reach into it."""
        assert self.simulator is not None, "this test is for the simulated cluster"
        return self.simulator

    async def kubectl(self, *arguments: str, stdin: str = "") -> tuple[int, str]:
        """Exit code and output of kubectl."""
        binary = Path(__file__).parents[1] / ".venv" / "bin" / "kubectl"
        process = await asyncio.create_subprocess_exec(
            str(binary),
            "--kubeconfig",
            str(self.kubeconfig),
            "--cache-dir",
            str(self.kubeconfig.parent / "cache"),
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await asyncio.wait_for(process.communicate(stdin.encode()), 30)
        return process.returncode or 0, output.decode()

    async def run(self, *arguments: str, stdin: str = "") -> str:
        """The output of a kubectl command that must succeed."""
        code, output = await self.kubectl(*arguments, stdin=stdin)
        assert code == 0, output
        return output

    async def bootstrap_token(
        self, expires: str = "2999-01-01T00:00:00Z", token_id: str = "abcdef", secret: str = "", *, joins: bool = True
    ) -> str:
        """Create a bootstrap token Secret and give the token. No two are the same: an API server remembers."""
        secret = secret or secrets.token_hex(8)
        data = {
            "token-id": token_id,
            "token-secret": secret,
            "expiration": expires,
            "usage-bootstrap-authentication": "true",
        }
        if joins:
            data["auth-extra-groups"] = "system:bootstrappers:k3s:default-node-token"
        body = {"metadata": {"name": f"bootstrap-token-{token_id}"}, "type": "bootstrap.kubernetes.io/token"}
        await self.core.create_namespaced_secret("kube-system", body | {"stringData": data})
        return f"{token_id}.{secret}"

    def server(self, number: int, token: str, **config: Any) -> ServerSeen:
        """A server that joins as k3s agent."""
        name = f"pool-{number}"
        agent = {"server": self.url, "token": token, "node-name": name, **config}
        file = {"path": "/etc/rancher/k3s/config.yaml", "content": yaml.safe_dump(agent)}
        script = {"path": "/usr/local/sbin/join", "content": "provider-id=hcloud://$INSTANCE_ID"}
        user_data = "#cloud-config\n" + yaml.safe_dump({"write_files": [file, script]})
        address = f"192.0.2.{number % 250 + 1}"
        return ServerSeen(1000 + number, name, user_data, address, "cx23", 2, 4, 40, "fsn1")

    async def ready_node(self, number: int, **config: Any) -> Any:
        """Boot a server and wait until its Node is Ready."""
        token = await self.bootstrap_token(token_id=f"{number:06d}")
        self.nodes.boot(self.server(number, token, **config))
        return await eventually(lambda: self.node_if(f"pool-{number}", "True"))

    async def node_if(self, name: str, ready: str) -> Any:
        """The Node, if there is one with that Ready status."""
        try:
            node = await self.core.read_node(name)
        except client.ApiException as error:
            if error.status == 404:
                return None
            raise
        found = [c.status for c in node.status.conditions or () if c.type == "Ready"]
        return node if found == [ready] else None


@asynccontextmanager
async def running_world(folder: Path) -> AsyncIterator[World]:
    """A simulated cluster over TLS whose state is in `folder`, with hollow nodes that join it."""
    cluster = Cluster(RealClock(), folder, timing=FAST)
    async with serve_cluster(cluster, tls=True) as url:
        (folder / "kubeconfig").write_text(cluster.kubeconfig(url))
        authority = cluster.authority.pem
        async with _clients(folder, url, cluster.admin_token, authority) as clients:
            yield World(
                url=url,
                token=cluster.admin_token,
                ca_pem=authority,
                version=cluster.version,
                join=JoinMethod.K3S,
                compact=cluster.store.compact,
                simulator=cluster,
                **clients,
            )


@asynccontextmanager
async def real_world(folder: Path, plane: ControlPlane) -> AsyncIterator[World]:
    """The cluster of a real control plane, emptied of what earlier tests left, with hollow nodes that join it."""
    (folder / "kubeconfig").write_text(plane.access.kubeconfig(plane.url))
    token, authority = plane.access.token(), plane.access.authority.read_text()
    await wipe(plane.url, token, authority)
    async with _clients(folder, plane.url, token, authority) as clients:
        yield World(
            url=plane.url,
            token=token,
            ca_pem=authority,
            version=(await client.VersionApi(clients["api"]).get_code()).git_version,
            join=JoinMethod.KUBEADM,
            compact=plane.compact,
            simulator=None,
            **clients,
        )


@asynccontextmanager
async def _clients(folder: Path, url: str, token: str, authority: str) -> AsyncIterator[dict[str, Any]]:
    settings = client.Configuration(host=url, api_key={"authorization": f"Bearer {token}"})
    settings.ca_cert_data = authority
    async with HollowNodes(RealClock(), folder, FAST, ca_pem=authority) as nodes, client.ApiClient(settings) as api:
        yield {"api": api, "core": client.CoreV1Api(api), "nodes": nodes, "kubeconfig": folder / "kubeconfig"}
