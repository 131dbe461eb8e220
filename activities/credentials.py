"""Is a token good, and what does the catalogue sell: what is asked before anything is stored."""

from __future__ import annotations

from datetime import UTC, datetime

from hcloud import Client
from hcloud.deprecation.domain import DeprecationInfo
from hcloud.server_types import BoundServerType
from temporalio import activity

from activities.beating import beaten
from activities.failures import Failure
from activities.hetzner_client import Cloud
from activities.project import Projects
from activities.vault import Vault
from core import calls
from core.calls import Health, Probe
from core.cloud_errors import CloudClass, CloudFailure

# A token that may write is told that the body is wrong; one that may only read is turned away before that.
_MAY_WRITE = ("invalid_input", "json_error")
_ARCHITECTURES = {"x86": "amd64", "arm": "arm64"}
_READ_ONLY = ("token_readonly", "forbidden")


class CredentialActivities:
    """Activities about a project's token and catalogue."""

    def __init__(self, cloud: Cloud, vault: Vault) -> None:
        self._cloud = cloud
        self._vault = vault
        self._projects = Projects(cloud, vault)

    @activity.defn(name=calls.PROBE_CREDENTIAL.name)
    @beaten
    async def probe_credential(self, call: calls.ProbeCredential) -> Probe:
        """One read, then a write whose empty body the API refuses after it has checked the token's rights."""
        token = self._vault.open_token(call.organization, call.name, call.sealed)
        for step in (_read, _write):
            try:
                await self._cloud.call(token, step)
            except Failure as error:
                if step is _write and error.failure.code in _MAY_WRITE:
                    return Probe(health=Health.VALID, message="reads and writes")
                return _finding(error.failure)
        return Probe(
            health=Health.UNKNOWN, reason="write_accepted", message="the write check was not refused as it should"
        )

    @activity.defn(name=calls.CHECK_PLACEMENT.name)
    @beaten
    async def check_placement(self, call: calls.CheckPlacement) -> calls.Placement:
        """Today's catalogue, as far as it concerns one type and location."""
        types, locations = await self._projects.run(call.project, _catalogue)
        known = {each.name: each for each in types if each.name}
        chosen = known.get(call.server_type)
        return calls.Placement(
            known_locations=locations,
            # A type that nobody sells today exists all the same; as advice it would be of no use.
            known_types=sorted(name for name, each in known.items() if each is chosen or _sold_in(each)),
            sold_in=_sold_in(chosen) if chosen else [],
            server=_size(chosen) if chosen else None,
        )


def _read(client: Client) -> None:
    client.servers.get_list(per_page=1)


def _write(client: Client) -> None:
    client.request("POST", "/ssh_keys", json={})


def _finding(failure: CloudFailure) -> Probe:
    if failure.code in _READ_ONLY:
        text = "the token may only read: make one with Read & Write and store that"
        return Probe(health=Health.INVALID, reason=failure.code, message=text)
    if failure.cls is CloudClass.CREDENTIAL:
        text = "Hetzner Cloud does not accept the token: make a new one and store that"
        return Probe(health=Health.INVALID, reason=failure.code, message=text)
    text = f"the token could not be checked, and will be later: {failure}"
    return Probe(health=Health.UNKNOWN, reason=failure.code, message=text)


def _catalogue(client: Client) -> tuple[list[BoundServerType], list[str]]:
    return client.server_types.get_all(), sorted(str(each.name) for each in client.locations.get_all())


def _sold_in(server_type: BoundServerType) -> list[str]:
    """The locations that offer the type: `available`, and not past the day after which it cannot be ordered."""
    now = datetime.now(UTC)
    return sorted(
        str(each.location.name)
        for each in server_type.locations or []
        if each.available and not _ended(each.deprecation, now)
    )


def _size(server_type: BoundServerType) -> calls.ServerType:
    return calls.ServerType(
        name=str(server_type.name),
        cores=int(server_type.cores or 0),
        memory_gb=float(server_type.memory or 0),
        disk_gb=int(server_type.disk or 0),
        architecture=_ARCHITECTURES.get(str(server_type.architecture), str(server_type.architecture)),
    )


def _ended(deprecation: DeprecationInfo | None, now: datetime) -> bool:
    return deprecation is not None and deprecation.unavailable_after is not None and deprecation.unavailable_after < now
