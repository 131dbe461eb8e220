"""The organization's cloud credentials: stored sealed, probed, rotated, told to the pools that use them."""

from __future__ import annotations

from temporalio import workflow
from temporalio.exceptions import ActivityError

from core import calls
from core.calls import Health, Named, ProbeCredential
from core.errors import AuthRefused, Conflict, PoolsError
from core.names import check_name
from core.sealing import SealedSecret
from core.views import CredentialRow
from workflows.calling import ANSWER_PATIENCE, failure_of, refusals, run
from workflows.messages import CredentialNews, Done, StoreCredential
from workflows.organization_base import OrganizationBase
from workflows.organization_state import StoredCredential


class CredentialsPart(OrganizationBase):
    """Updates and queries on credentials."""

    @workflow.update(description="Store a sealed cloud token under a new name; it is probed first.")
    async def create_credential(self, request: StoreCredential) -> CredentialRow:
        """Store a credential."""
        return await self._once(CredentialRow, lambda: self._create_credential(request))

    @create_credential.validator
    def _check_create_credential(self, request: StoreCredential) -> None:
        with refusals():
            self._refuse_when_off()
            check_name("name", request.name)

    async def _create_credential(self, request: StoreCredential) -> CredentialRow:
        if request.name in self.state.credentials:
            raise Conflict(
                f"cloud credential {request.name!r} exists",
                hint=f"replace its token: lbr cloud-credential rotate {request.name}",
            )
        probe = await self._probe(request.name, request.sealed, "the token was not stored")
        now = workflow.now()
        stored = StoredCredential(sealed=request.sealed, probe=probe, since=now, probed_at=now)
        self.state.credentials[request.name] = stored
        self._changed()
        return self.state.credential_row(request.name)

    @workflow.update(description="Replace a credential's token; the old one stays if the new one fails its probe.")
    async def rotate_credential(self, request: StoreCredential) -> CredentialRow:
        """Rotate a credential."""
        return await self._once(CredentialRow, lambda: self._rotate_credential(request))

    @rotate_credential.validator
    def _check_rotate_credential(self, request: StoreCredential) -> None:
        with refusals():
            self._refuse_when_off()
            self.state.credential(request.name)

    async def _rotate_credential(self, request: StoreCredential) -> CredentialRow:
        stored = self.state.credential(request.name)
        probe = await self._probe(request.name, request.sealed, "the new token was not stored, the old one stays")
        if probe.health is not Health.VALID:
            raise PoolsError(
                f"the new token was not stored, the old one stays: {probe.message}",
                hint="try again when the cloud answers",
            )
        self.state.credentials[request.name] = stored.probed(probe, workflow.now()).model_copy(
            update={"sealed": request.sealed}
        )
        self._changed()
        await self._tell_users(request.name)
        return self.state.credential_row(request.name)

    @workflow.update(description="Remove a credential that no pool names.")
    async def delete_credential(self, named: Named) -> Done:
        """Delete a credential."""
        return await self._once(Done, lambda: self._delete_credential(named))

    @delete_credential.validator
    def _check_delete_credential(self, named: Named) -> None:
        with refusals():
            self._refuse_when_off()
            self.state.credential(named.name)
            self.state.refuse_if_used("cloud credential", named.name, self.state.users(named.name))

    async def _delete_credential(self, named: Named) -> Done:
        self.state.credential(named.name)
        self.state.refuse_if_used("cloud credential", named.name, self.state.users(named.name))
        del self.state.credentials[named.name]
        self._changed()
        return Done(message=f"cloud credential {named.name!r} deleted")

    async def _probe(self, name: str, sealed: SealedSecret, refusal: str) -> calls.Probe:
        """Probe a token before it is stored. Raises AuthRefused when the cloud refuses it."""
        probe = await run(
            calls.PROBE_CREDENTIAL,
            ProbeCredential(organization=self.state.name, name=name, sealed=sealed),
            summary=f"probe {name}: one read, one write that must be refused for its body",
            patience=ANSWER_PATIENCE,
        )
        if probe.health is Health.INVALID:
            raise AuthRefused(
                f"{refusal}: {probe.message}",
                hint="make an API token with Read & Write in the Hetzner project that is to hold the nodes",
                field="--token",
            )
        return probe

    async def _probe_due(self) -> None:
        for name, stored in sorted(self.state.credentials.items()):
            if stored.due_at <= workflow.now():
                await self._probe_again(name)

    async def _probe_again(self, name: str) -> None:
        """Probe a stored token; when its health has changed, its pools are told."""
        stored = self.state.credentials.get(name)
        if stored is None:
            return
        try:
            probe = await run(
                calls.PROBE_CREDENTIAL,
                ProbeCredential(organization=self.state.name, name=name, sealed=stored.sealed),
                summary=f"probe {name}",
                patience=ANSWER_PATIENCE,
            )
        except ActivityError as error:
            probe = calls.Probe(health=Health.UNKNOWN, reason="ProbeFailed", message=str(failure_of(error)))
        current = self.state.credentials.get(name)
        if current is None or current.sealed != stored.sealed:
            return  # rotated or deleted meanwhile: this finding is about a token that is no longer used
        self.state.credentials[name] = current.probed(probe, workflow.now())
        if probe.health is not Health.UNKNOWN:
            await self._tell_users(name)

    async def _tell_users(self, name: str) -> None:
        probe = self.state.credentials[name].probe
        news = CredentialNews(name=name, health=probe.health, reason=probe.reason, message=probe.message)
        for workflow_id, pool in sorted(self.state.pools.items()):
            if pool.credential == name:
                await self._signal(workflow_id, "credential_news", news)

    @workflow.signal(description="A pool says that the cloud refused its token.")
    async def credential_refused(self, named: Named) -> None:
        """Probe at once, and tell all pools on the credential what was found."""
        async with self._lock:
            await self._probe_again(named.name)
