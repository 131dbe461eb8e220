"""What an organization's workflow carries from run to run, and what can be read from it."""

from __future__ import annotations

from datetime import datetime, timedelta

from pydantic import BaseModel

from core.calls import Health, Probe
from core.errors import Conflict, NotFound
from core.sealing import SealedSecret
from core.usage import UsageLine
from core.views import CredentialRow, OrganizationView
from workflows.entity import EntityState

PROBE_EVERY = timedelta(hours=24)
PROBE_UNKNOWN_EVERY = timedelta(minutes=10)


class StoredCredential(BaseModel):
    """A sealed cloud token and what its last probe found."""

    sealed: SealedSecret
    probe: Probe
    since: datetime
    probed_at: datetime

    @property
    def due_at(self) -> datetime:
        """When it is probed next: daily, sooner while its health is unknown."""
        pause = PROBE_UNKNOWN_EVERY if self.probe.health is Health.UNKNOWN else PROBE_EVERY
        return self.probed_at + pause

    def probed(self, probe: Probe, now: datetime) -> StoredCredential:
        """The credential after another probe; `since` moves only when its health changed."""
        since = self.since if probe.health is self.probe.health else now
        return self.model_copy(update={"probe": probe, "since": since, "probed_at": now})


class PoolEntry(BaseModel):
    """A pool, as the organization refers to it."""

    cluster: str
    pool: str
    pool_id: str
    credential: str
    workflow_id: str


class OrganizationState(EntityState):
    """Flag, credentials, registered clusters (name -> cluster id), pools by workflow id, and the usage ledger."""

    name: str
    enabled: bool
    created_at: datetime
    credentials: dict[str, StoredCredential] = {}
    clusters: dict[str, str] = {}
    pools: dict[str, PoolEntry] = {}
    ledger: dict[str, UsageLine] = {}

    @property
    def row(self) -> OrganizationView:
        """The organization as `org show` prints it."""
        return OrganizationView(
            name=self.name,
            enabled=self.enabled,
            credentials=len(self.credentials),
            clusters=len(self.clusters),
            pools=len(self.pools),
            created_at=self.created_at,
        )

    def credential(self, name: str) -> StoredCredential:
        """A stored credential. Raises NotFound."""
        if name not in self.credentials:
            known = ", ".join(sorted(self.credentials)) or "none yet"
            raise NotFound(
                f"no cloud credential {name!r} in organization {self.name!r}",
                hint=f"stored credentials: {known}; store one: lbr cloud-credential create {name} --token-file FILE",
                field="--credential",
            )
        return self.credentials[name]

    def cluster_id(self, name: str) -> str:
        """A registered cluster's id. Raises NotFound."""
        if name not in self.clusters:
            known = ", ".join(sorted(self.clusters)) or "none yet"
            raise NotFound(
                f"no cluster {name!r} is registered in organization {self.name!r}",
                hint=f"registered clusters: {known}; register one: lbr cp register {name} --kubeconfig FILE",
                field="cluster",
            )
        return self.clusters[name]

    def users(self, credential: str) -> list[str]:
        """The pools that name `credential`, as cluster/pool."""
        return sorted(f"{pool.cluster}/{pool.pool}" for pool in self.pools.values() if pool.credential == credential)

    def pools_of(self, cluster: str) -> list[str]:
        """The names of a cluster's pools."""
        return sorted(pool.pool for pool in self.pools.values() if pool.cluster == cluster)

    def refuse_if_used(self, what: str, name: str, users: list[str]) -> None:
        """Raise Conflict naming the pools that still need `what` `name`."""
        if users:
            first = users[0].split("/")
            raise Conflict(
                f"{what} {name!r} is used by {len(users)} pool{'s' if len(users) > 1 else ''}: {', '.join(users)}",
                hint=f"delete the pools first: lbr cp pool delete {' '.join(first)}",
            )

    def credential_row(self, name: str) -> CredentialRow:
        """A credential as a list shows it: never the secret."""
        stored = self.credentials[name]
        return CredentialRow(
            name=name,
            cloud="hetzner",
            health=stored.probe.health,
            reason=stored.probe.reason,
            message=stored.probe.message,
            since=stored.since,
            probed_at=stored.probed_at,
            pools=self.users(name),
            version=stored.sealed.version,
        )
