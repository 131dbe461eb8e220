"""Deletes bootstrap tokens that have expired."""

from datetime import datetime

from sandbox.kubernetes.authentication import TOKEN_TYPE, decoded, has_expired
from sandbox.kubernetes.kinds import SECRETS
from sandbox.kubernetes.objects import name_of
from sandbox.kubernetes.registry import Registry


def clean_tokens(registry: Registry, now: datetime) -> None:
    """Delete each expired bootstrap token Secret in `kube-system`."""
    for secret in list(registry.store.objs(SECRETS, "kube-system")):
        if secret.get("type") == TOKEN_TYPE and has_expired(decoded(secret), now):
            registry.delete(SECRETS, "kube-system", name_of(secret))
