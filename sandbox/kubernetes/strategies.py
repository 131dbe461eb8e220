"""Which rules hold for which kind, with the short ones: secrets, namespaces, leases, requests."""

import base64
from collections.abc import Iterator, Mapping

from sandbox.kubernetes import kinds, nodes, pods, workloads
from sandbox.kubernetes.errors import Cause
from sandbox.kubernetes.kinds import Kind
from sandbox.kubernetes.objects import Obj
from sandbox.kubernetes.strategy import Creation, Strategy
from sandbox.kubernetes.validation import required, wrong

_ACCOUNT = "kubernetes.io/service-account.name"


def _default_secret(secret: Obj) -> None:
    secret.setdefault("type", "Opaque")
    for key, text in (secret.pop("stringData", None) or {}).items():
        data = secret.get("data") or {}
        secret["data"] = data | {key: base64.b64encode(text.encode()).decode()}


def _validate_secret(new: Obj, old: Obj | None) -> Iterator[Cause]:
    annotations = new["metadata"].get("annotations") or {}
    if new["type"] == "kubernetes.io/service-account-token" and not annotations.get(_ACCOUNT):
        yield required(f"metadata.annotations[{_ACCOUNT}]")
    if old is not None and new["type"] != old["type"]:
        yield wrong("type", new["type"], "field is immutable")
    if old is not None and old.get("immutable") and new.get("data") != old.get("data"):
        yield Cause("data", "Forbidden: field is immutable when `immutable` is set", "FieldValueForbidden")


def _create_namespace(namespace: Obj, creation: Creation) -> None:
    del creation
    labels = namespace["metadata"].get("labels") or {}
    name = {"kubernetes.io/metadata.name": namespace["metadata"]["name"]}
    namespace["metadata"]["labels"] = labels | name
    namespace["spec"] = {"finalizers": ["kubernetes"]}
    namespace["status"] = {"phase": "Active"}


def _create_request(request: Obj, creation: Creation) -> None:
    """The server, not the client, says who asks for a certificate."""
    user = {"username": creation.user.name, "groups": list(creation.user.groups)}
    request["spec"] = request.get("spec", {}) | user
    request["status"] = {}


def _validate_request(new: Obj, old: Obj | None) -> Iterator[Cause]:
    for name in ("request", "signerName", "usages"):
        if not new["spec"].get(name):
            yield required(f"spec.{name}")
    if old is not None and new["spec"] != old["spec"]:
        yield wrong("spec", {}, "field is immutable")


def _validate_lease(new: Obj, old: Obj | None) -> Iterator[Cause]:
    del old
    spec = new.get("spec") or {}
    for name in ("leaseDurationSeconds", "leaseTransitions"):
        value = spec.get(name)
        if value is not None and value < (1 if name == "leaseDurationSeconds" else 0):
            yield wrong(f"spec.{name}", value, "must be greater than 0")


def _as_sent(obj: Obj, creation: Creation) -> None:
    del obj, creation


_PLAIN = Strategy()
_BY_KIND: Mapping[Kind, Strategy] = {
    kinds.NODES: nodes.STRATEGY,
    kinds.PODS: pods.STRATEGY,
    kinds.REPLICA_SETS: workloads.REPLICA_SET,
    kinds.DEPLOYMENTS: workloads.DEPLOYMENT,
    kinds.DAEMON_SETS: workloads.DAEMON_SET,
    kinds.JOBS: workloads.JOB,
    kinds.BUDGETS: workloads.BUDGET,
    kinds.SECRETS: Strategy(_default_secret, _as_sent, _validate_secret),
    kinds.NAMESPACES: Strategy(create=_create_namespace),
    kinds.SIGNING_REQUESTS: Strategy(create=_create_request, validate=_validate_request),
    kinds.LEASES: Strategy(create=_as_sent, validate=_validate_lease, unconditional=False),
}


def strategy_of(kind: Kind) -> Strategy:
    """The rules of a kind; those without a rule of their own are kept as sent."""
    return _BY_KIND.get(kind, _PLAIN)
