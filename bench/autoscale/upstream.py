"""Cluster Autoscaler on a sandbox's world, as its users run it: the executable, its configuration, its own defaults."""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import string
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from bench.autoscale.stand import LOCATION, Stand, end_of
from core.calls import JoinMethod, ServerType
from core.errors import PoolsError
from core.userdata import Join, render
from core.version import Version
from sandbox.hetzner.catalogue import SERVER_TYPE

VARIABLE = "CLUSTER_AUTOSCALER"
IMAGE = "ubuntu-24.04"  # what our own servers are made of
START_S, STOP_S = 60, 20
SECRETS = "/api/v1/namespaces/kube-system/secrets"
STATUS = "/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status"
_VERSION = re.compile(r"\] Cluster Autoscaler (\S+)")
_ALPHABET = string.ascii_lowercase + string.digits


@dataclass(frozen=True)
class Group:
    """A node group that may grow from nothing."""

    name: str
    server_type: str
    high: int


def executable(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The program that CLUSTER_AUTOSCALER names. Raises PoolsError where it names none that can run."""
    named = environment.get(VARIABLE)
    if not named:
        return None
    if not os.access(named, os.X_OK):
        raise PoolsError(f"{VARIABLE}={named}: there is no such program", hint="name an executable file")
    return Path(named)


@asynccontextmanager
async def cluster_autoscaler(program: Path, stand: Stand, groups: list[Group]) -> AsyncIterator[str]:
    """Run it for the length of the block, which begins once it is at rest. Gives its version."""
    config = stand.box.layout.root / "cluster-autoscaler.json"
    stand.box.layout.write_secret(config, json.dumps(await _configuration(stand, groups)))
    environment = {
        **os.environ,
        "HCLOUD_TOKEN": stand.token,
        "HCLOUD_ENDPOINT": stand.cloud,
        "HCLOUD_CLUSTER_CONFIG_FILE": str(config),
    }
    log = stand.box.layout.log("cluster-autoscaler")
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *arguments(program, stand.box.layout.kubeconfig, groups), env=environment, stdout=output, stderr=output
        )
    try:
        await _until_it_watches(stand, process, log)
        said = _VERSION.search(log.read_text())
        yield said[1] if said else "unknown"
    finally:
        await _end(process)


def arguments(program: Path, kubeconfig: Path, groups: list[Group]) -> list[str]:
    """Its command line. Beside what it needs: no two may listen on one port, and it is to log its version."""
    nodes = [f"--nodes=0:{group.high}:{group.server_type}:{LOCATION}:{group.name}" for group in groups]
    needed = [str(program), "--cloud-provider=hetzner", f"--kubeconfig={kubeconfig}", *nodes]
    return [*needed, "--address=127.0.0.1:0", "--v=1"]


async def _configuration(stand: Stand, groups: list[Group]) -> dict[str, object]:
    token = await _token(stand)
    told = Version.parse((await stand.kubernetes("GET", "/version"))["gitVersion"])
    return {
        "imagesForArch": {"amd64": IMAGE, "arm64": IMAGE},
        "nodeConfigs": {
            group.name: {"cloudInit": _cloud_init(stand, group, token, told), "labels": {"pool": group.name}}
            for group in groups
        },
    }


def _cloud_init(stand: Stand, group: Group, token: tuple[str, str], told: Version) -> str:
    """The user-data of all its servers: ours, but with no name in it. A machine then takes its server's."""
    sold = SERVER_TYPE[group.server_type]
    return render(
        Join(
            method=JoinMethod(stand.box.join),
            machine="",
            endpoint=stand.server,
            ca_pem=stand.authority.encode(),
            token_id=token[0],
            token_secret=token[1],
            version=told,
            labels={"pool": group.name},
            taints=[],
            server=ServerType(name=sold.name, cores=sold.cores, memory_gb=sold.memory, disk_gb=sold.disk),
        )
    )


async def _token(stand: Stand) -> tuple[str, str]:
    """One bootstrap token for all servers, as its configuration holds no more."""
    token_id, secret = _random(6), _random(16)
    method = "kubeadm" if stand.box.join == JoinMethod.KUBEADM else "k3s"
    body = {
        "metadata": {"name": f"bootstrap-token-{token_id}"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "token-id": token_id,
            "token-secret": secret,
            "usage-bootstrap-authentication": "true",
            "auth-extra-groups": f"system:bootstrappers:{method}:default-node-token",
        },
    }
    await stand.kubernetes("POST", SECRETS, body)
    return token_id, secret


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


async def _until_it_watches(stand: Stand, process: asyncio.subprocess.Process, log: Path) -> None:
    """Wait for its second look: what comes during the first, while its caches fill, waits for the next one."""
    seen: set[str] = set()

    async def told() -> bool:
        if process.returncode is not None:
            raise PoolsError(f"Cluster Autoscaler ended with {process.returncode}", hint=f"it said: {end_of(log)}")
        with suppress(aiohttp.ClientResponseError):  # not written yet
            seen.add((await stand.kubernetes("GET", STATUS))["data"]["status"])
        return len(seen) > 1

    await stand.until("Cluster Autoscaler watches", told, START_S)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_S)
    except TimeoutError:
        process.kill()
        await process.wait()
