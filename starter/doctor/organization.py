"""Checks of one organization: its flag, the public key, and the health of credentials and clusters."""

from __future__ import annotations

from collections.abc import AsyncIterator

from core.calls import Health, Named
from core.errors import PoolsError
from core.sealing import PublicKey, SealedSecret
from core.views import ClusterRow, CredentialRow, OrganizationView
from starter import targets
from starter.doctor.findings import Finding, fail, ok, warn
from starter.profile import Profile
from starter.reads import clusters, credentials
from starter.session import Session


async def check_organization(session: Session, profile: Profile) -> AsyncIterator[Finding]:
    """All checks of the session's organization."""
    name = session.organization
    key = _public_key(profile)
    yield key
    try:
        view = await session.row(targets.organization(name), OrganizationView)
        yield _surface(view)
        for credential in await credentials(session):
            yield _credential(credential)
            if not key.hint:
                yield await _sealing(session, credential.name, key.message)
        for cluster in await clusters(session):
            yield _cluster(cluster)
    except PoolsError as error:
        yield fail(f"organization {name}", error.message, error.hint)


def _public_key(profile: Profile) -> Finding:
    if not profile.public_key:
        return warn("public key", "none in the profile: no secret can be stored", "put public_key into the profile")
    try:
        return ok("public key", PublicKey.from_text(profile.public_key).key_id)
    except PoolsError as error:
        return fail("public key", error.message, error.hint)


def _surface(view: OrganizationView) -> Finding:
    check = f"organization {view.name}"
    if view.enabled:
        return ok(check, "managed node pools are on")
    return warn(check, "managed node pools are off", f"turn them on: lbr org enable {view.name}")


def _credential(row: CredentialRow) -> Finding:
    check = f"credential {row.name}"
    why = row.message or row.reason
    match row.health:
        case Health.VALID:
            return ok(check, "Valid")
        case Health.INVALID:
            return fail(check, f"Invalid: {why}", f"give a new token: lbr cloud-credential rotate {row.name}")
        case Health.UNKNOWN:
            return warn(check, f"Unknown: {why}", "it is tried again by itself; check that Hetzner can be reached")


async def _sealing(session: Session, name: str, key_id: str) -> Finding:
    target = targets.organization(session.organization)
    sealed = await session.query(target, "sealed_credential", SealedSecret, Named(name=name))
    check = f"sealing of {name}"
    if sealed.key_id == key_id:
        return ok(check, f"sealed to key {key_id}")
    message = f"sealed to key {sealed.key_id}, the profile has {key_id}"
    return warn(check, message, f"store it again with the current key: lbr cloud-credential rotate {name}")


def _cluster(row: ClusterRow) -> Finding:
    check = f"cluster {row.name}"
    if row.health is Health.VALID:
        return ok(check, f"answers, {row.version}")
    kind = fail if row.health is Health.INVALID else warn
    hint = f"check {row.api_endpoint} and the kubeconfig; register it again if they changed"
    return kind(check, f"{row.health.value}: {row.message}", hint)
