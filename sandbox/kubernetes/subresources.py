"""Subresources other than status: binding, eviction, scale."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import msgspec
from starlette.datastructures import QueryParams
from starlette.responses import Response

from sandbox.kubernetes.errors import ApiError, bad_request, conflict, invalid_as, misnamed
from sandbox.kubernetes.eviction import evict
from sandbox.kubernetes.identity import User
from sandbox.kubernetes.kinds import PODS, SERVICE_ACCOUNTS, SIGNING_REQUESTS, Kind
from sandbox.kubernetes.objects import Obj, set_condition, uid_of
from sandbox.kubernetes.options import check_delete, is_dry
from sandbox.kubernetes.paths import Target
from sandbox.kubernetes.reading import json_response
from sandbox.kubernetes.registry import INTERNAL, Registry
from sandbox.kubernetes.service_accounts import TokenIssuer
from sandbox.kubernetes.validation import required, unsupported, wrong

_READ_WRITE = ("GET", "PUT", "PATCH")
_SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


@dataclass(frozen=True)
class Subresources:
    """Answers requests to subresources that the target's kind has."""

    registry: Registry
    accounts: TokenIssuer

    def get(self, target: Target) -> Response:
        """Read a scale."""
        obj = self.registry.get(target.kind, target.namespace, target.name).obj
        return _scale_response(obj)

    def post(self, target: Target, body: Obj, query: QueryParams, user: User) -> Response:
        """Evict a pod, bind it to a node, or issue a service account's token."""
        if target.kind is SERVICE_ACCOUNTS and target.subresource == "token":
            account = self.registry.get(target.kind, target.namespace, target.name).obj
            issued = self.accounts.request(account, body, self.registry.now())
            return json_response(msgspec.json.encode(issued), 201)
        if target.kind is PODS and target.subresource == "eviction":
            options = body.get("deleteOptions") or {}
            check_delete(options)
            if is_dry(query):
                options = options | {"dryRun": ["All"]}
            evict(self.registry, target.namespace, target.name, body | {"deleteOptions": options}, user)
        else:
            bind(self.registry, target.namespace, target.name, _bound_node(target.name, body), is_dry(query))
        return json_response(msgspec.json.encode(_SUCCESS), 201)

    def patch(self, target: Target, change: Callable[[Obj], Obj], query: QueryParams, user: User) -> Response:
        """Change a scale."""
        kind = target.kind

        def rescale(obj: Obj) -> Obj:
            wanted = change(_scale(obj))
            metadata, replicas = wanted.get("metadata", {}), wanted.get("spec", {}).get("replicas", 0)
            if metadata.get("name", target.name) != target.name:
                raise misnamed(metadata["name"], target.name)
            if metadata.get("uid", uid_of(obj)) != uid_of(obj):
                why = f"Precondition failed: UID in precondition: {metadata['uid']}, UID in object meta: {uid_of(obj)}"
                raise conflict(replace(kind, plural=f"{kind.plural}/scale"), target.name, why)
            if replicas < 0:
                cause = wrong("spec.replicas", replicas, "must be greater than or equal to 0")
                raise invalid_as("autoscaling", "Scale", target.name, [cause])
            obj["spec"]["replicas"] = replicas
            if metadata.get("resourceVersion"):
                obj["metadata"]["resourceVersion"] = metadata["resourceVersion"]
            return obj

        stored = self.registry.update(kind, target.namespace, target.name, rescale, user=user, dry_run=is_dry(query))
        return _scale_response(stored.obj)


def _bound_node(name: str, binding: Obj) -> str:
    """The node that a binding names. Raises ApiError 400 or 500 for one that cannot be meant."""
    if binding.get("metadata", {}).get("name") != name:
        raise bad_request("name in URL does not match name in Binding object")
    target = binding.get("target") or {}
    causes = []
    if target.get("kind", "") not in ("", "Node"):
        causes.append(unsupported("target.kind", target["kind"], ("Node", "<empty>")))
    if not target.get("name"):
        causes.append(required("target.name"))
    if causes:
        raise ApiError(500, "", ", ".join(f"{cause.field}: {cause.message}" for cause in causes))
    return str(target["name"])


def bind(registry: Registry, namespace: str, name: str, node: str, dry_run: bool = False) -> None:
    """Assign a pod to a node, as the scheduler does. Raises ApiError 404, or 409 when it has one."""

    def assign(pod: Obj) -> Obj:
        if pod["spec"].get("nodeName"):
            held = pod["spec"]["nodeName"]
            why = f'pod {name} is already assigned to node "{held}"'
            text = f'Operation cannot be fulfilled on pods/binding "{name}": {why}'
            raise ApiError(409, "Conflict", text, {"name": name, "kind": "pods/binding"})
        pod["spec"]["nodeName"] = node
        set_condition(pod, {"type": "PodScheduled", "status": "True"}, registry.now())
        scheduled = pod["status"]["conditions"][-1]
        for field in ("reason", "message"):
            scheduled.pop(field, None)
        return pod

    registry.update(PODS, namespace, name, assign, INTERNAL, dry_run=dry_run)


def _scale(obj: Obj) -> Obj:
    metadata = {k: v for k, v in obj["metadata"].items() if k in _SCALE_METADATA}
    labels = (obj["spec"].get("selector") or {}).get("matchLabels") or {}
    selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    status = {"replicas": obj.get("status", {}).get("replicas", 0), "selector": selector}
    head = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata}
    replicas = obj["spec"].get("replicas", 0)
    return head | {"spec": {"replicas": replicas} if replicas else {}, "status": status}


_SCALE_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def _scale_response(obj: Obj) -> Response:
    return json_response(msgspec.json.encode(_scale(obj)))


def subresources_of(kind: Kind) -> dict[str, tuple[str, ...]]:
    """The subresources of a kind, with the HTTP methods that each has."""
    names = [name for name, there in (("status", kind.status), ("scale", kind.scale)) if there]
    own: dict[Kind, dict[str, tuple[str, ...]]] = {
        PODS: {"binding": ("POST",), "eviction": ("POST",)},
        SERVICE_ACCOUNTS: {"token": ("POST",)},
        SIGNING_REQUESTS: {"approval": _READ_WRITE},
    }
    return {**dict.fromkeys(names, _READ_WRITE), **own.get(kind, {})}
