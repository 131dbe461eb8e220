"""Cluster Autoscaler on a sandbox's world, as its users run it: the executable, its configuration, its own defaults."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import string
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
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


def version(program: Path) -> str:
    """What it says of itself."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=30)
    return done.stdout.strip() or "unknown"


@asynccontextmanager
async def cluster_autoscaler(program: Path, stand: Stand, groups: list[Group]) -> AsyncIterator[None]:
    """Run it until the end of the block, and begin once it has looked at the cluster for the first time."""
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
        yield
    finally:
        await _end(process)


def arguments(program: Path, kubeconfig: Path, groups: list[Group]) -> list[str]:
    """Its command line. The address is the one flag beside what it needs: no two may listen on its default port."""
    nodes = [f"--nodes=0:{group.high}:{group.server_type}:{LOCATION}:{group.name}" for group in groups]
    return [
        str(program),
        "--cloud-provider=hetzner",
        f"--kubeconfig={kubeconfig}",
        "--address=127.0.0.1:0",
        *nodes,
    ]


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
    async def told() -> bool:
        if process.returncode is not None:
            raise PoolsError(f"Cluster Autoscaler ended with {process.returncode}", hint=f"it said: {end_of(log)}")
        try:
            await stand.kubernetes("GET", STATUS)
        except aiohttp.ClientResponseError:
            return False
        return True

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
