"""Which rules hold for which kind, with the short ones: secrets, config maps, namespaces, leases."""

import base64
from collections.abc import Iterator, Mapping

from sandbox.kubernetes import events, kinds, nodes, pods, signing_requests, workloads
from sandbox.kubernetes.errors import Cause
from sandbox.kubernetes.kinds import Kind
from sandbox.kubernetes.objects import Obj, name_of
from sandbox.kubernetes.strategy import Creation, Strategy
from sandbox.kubernetes.validation import data_causes, refused, required, wrong

_ACCOUNT = "kubernetes.io/service-account.name"
# What the data of a secret of a type must hold.
_DEMANDED = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


def _default_secret(secret: Obj) -> None:
    secret.setdefault("type", "Opaque")
    for key, text in (secret.pop("stringData", None) or {}).items():
        data = secret.get("data") or {}
        secret["data"] = data | {key: base64.b64encode(text.encode()).decode()}


def _validate_secret(new: Obj, old: Obj | None) -> Iterator[Cause]:
    yield from data_causes("data", new.get("data") or {})
    present = new.get("data") or {}
    yield from (required(f"data[{key}]") for key in _DEMANDED.get(new["type"], ()) if key not in present)
    annotations = new["metadata"].get("annotations") or {}
    if new["type"] == "kubernetes.io/service-account-token" and not annotations.get(_ACCOUNT):
        yield required(f"metadata.annotations[{_ACCOUNT}]")
    if old is not None and new["type"] != old["type"]:
        yield wrong("type", new["type"], "field is immutable")
    if old is not None and old.get("immutable") and new.get("data") != old.get("data"):
        yield refused("data", "field is immutable when `immutable` is set")


def _validate_config_map(new: Obj, old: Obj | None) -> Iterator[Cause]:
    for field in ("data", "binaryData"):
        yield from data_causes(field, new.get(field) or {})
    if old is not None and old.get("immutable"):
        for field in ("data", "binaryData"):
            if new.get(field) != old.get(field):
                yield refused(field, "field is immutable when `immutable` is set")


def _create_namespace(namespace: Obj, creation: Creation) -> None:
    del creation
    labels = namespace["metadata"].get("labels") or {}
    name = {"kubernetes.io/metadata.name": name_of(namespace)}
    namespace["metadata"]["labels"] = labels | name
    namespace["spec"] = {"finalizers": ["kubernetes"]}
    namespace["status"] = {"phase": "Active"}


def _validate_lease(new: Obj, old: Obj | None) -> Iterator[Cause]:
    del old
    spec = new.get("spec") or {}
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds < 1:
        yield wrong("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    if transitions is not None and transitions < 0:
        yield wrong("spec.leaseTransitions", transitions, "must be greater than or equal to 0")


def _as_sent(obj: Obj, creation: Creation) -> None:
    del obj, creation


_PLAIN = Strategy()
_UPSERTED = (
    kinds.CLUSTER_ROLES,
    kinds.CLUSTER_ROLE_BINDINGS,
    kinds.ROLES,
    kinds.ROLE_BINDINGS,
    kinds.SERVICES,
)
_BY_KIND: Mapping[Kind, Strategy] = {
    kinds.NODES: nodes.STRATEGY,
    kinds.PODS: pods.STRATEGY,
    kinds.REPLICA_SETS: workloads.REPLICA_SET,
    kinds.DEPLOYMENTS: workloads.DEPLOYMENT,
    kinds.DAEMON_SETS: workloads.DAEMON_SET,
    kinds.JOBS: workloads.JOB,
    kinds.BUDGETS: workloads.BUDGET,
    kinds.CONFIG_MAPS: Strategy(create=_as_sent, validate=_validate_config_map),
    kinds.EVENTS: events.STRATEGY,
    kinds.NEW_EVENTS: events.NEW_STRATEGY,
    kinds.SECRETS: Strategy(_default_secret, _as_sent, _validate_secret),
    kinds.NAMESPACES: Strategy(create=_create_namespace),
    kinds.SIGNING_REQUESTS: signing_requests.STRATEGY,
    kinds.LEASES: Strategy(create=_as_sent, validate=_validate_lease, unconditional=False, upserts=True),
    **dict.fromkeys(_UPSERTED, Strategy(upserts=True)),
}


def strategy_of(kind: Kind) -> Strategy:
    """The rules of a kind; those without a rule of their own are kept as sent."""
    return _BY_KIND.get(kind, _PLAIN)
