"""Subresources other than status: binding, eviction, scale."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec
from starlette.datastructures import QueryParams
from starlette.responses import Response

from sandbox.kubernetes.errors import ApiError, unknown_path
from sandbox.kubernetes.eviction import evict
from sandbox.kubernetes.identity import User
from sandbox.kubernetes.kinds import PODS, SERVICE_ACCOUNTS, Kind
from sandbox.kubernetes.objects import Obj, set_condition
from sandbox.kubernetes.paths import Target
from sandbox.kubernetes.reading import json_response
from sandbox.kubernetes.registry import INTERNAL, Registry
from sandbox.kubernetes.service_accounts import TokenIssuer

_SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


@dataclass(frozen=True)
class Subresources:
    """Answers requests to subresources. Raises ApiError 404 for those we do not serve."""

    registry: Registry
    accounts: TokenIssuer

    def get(self, target: Target) -> Response:
        """Read a scale."""
        _demand_scale(target)
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
            if query.get("dryRun"):
                options = options | {"dryRun": ["All"]}
            evict(self.registry, target.namespace, target.name, body | {"deleteOptions": options}, user)
        elif target.kind is PODS and target.subresource == "binding":
            bind(self.registry, target.namespace, target.name, (body.get("target") or {}).get("name", ""))
        else:
            raise unknown_path()
        return json_response(msgspec.json.encode(_SUCCESS), 201)

    def put(self, target: Target, body: Obj, query: QueryParams, user: User) -> Response:
        """Write a scale."""
        return self.patch(target, lambda _: body, query, user)

    def patch(self, target: Target, change: Callable[[Obj], Obj], query: QueryParams, user: User) -> Response:
        """Change a scale."""
        _demand_scale(target)

        def rescale(obj: Obj) -> Obj:
            wanted = change(_scale(obj))
            obj["spec"]["replicas"] = wanted.get("spec", {}).get("replicas", 0)
            version = wanted.get("metadata", {}).get("resourceVersion")
            if version:
                obj["metadata"]["resourceVersion"] = version
            return obj

        dry = query.get("dryRun") == "All"
        stored = self.registry.update(target.kind, target.namespace, target.name, rescale, user=user, dry_run=dry)
        return _scale_response(stored.obj)


def bind(registry: Registry, namespace: str, name: str, node: str) -> None:
    """Assign a pod to a node, as the scheduler does. Raises ApiError 404, or 409 when it has one."""

    def assign(pod: Obj) -> Obj:
        if pod["spec"].get("nodeName"):
            held = pod["spec"]["nodeName"]
            why = f'pod {name} is already assigned to node "{held}"'
            raise ApiError(409, "Conflict", f'Operation cannot be fulfilled on pods/binding "{name}": {why}')
        pod["spec"]["nodeName"] = node
        set_condition(pod, {"type": "PodScheduled", "status": "True"}, registry.now())
        scheduled = pod["status"]["conditions"][-1]
        for field in ("reason", "message"):
            scheduled.pop(field, None)
        return pod

    registry.update(PODS, namespace, name, assign, INTERNAL)


def _demand_scale(target: Target) -> None:
    if target.subresource != "scale" or not target.kind.scale:
        raise unknown_path()


def _scale(obj: Obj) -> Obj:
    metadata = {k: v for k, v in obj["metadata"].items() if k in _SCALE_METADATA}
    labels = (obj["spec"].get("selector") or {}).get("matchLabels") or {}
    selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    status = {"replicas": obj.get("status", {}).get("replicas", 0), "selector": selector}
    head = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata}
    return head | {"spec": {"replicas": obj["spec"].get("replicas", 0)}, "status": status}


_SCALE_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def _scale_response(obj: Obj) -> Response:
    return json_response(msgspec.json.encode(_scale(obj)))


def subresources_of(kind: Kind) -> tuple[str, ...]:
    """The names that discovery lists for a kind."""
    names = [name for name, there in (("status", kind.status), ("scale", kind.scale)) if there]
    own = {PODS: ("binding", "eviction"), SERVICE_ACCOUNTS: ("token",)}
    return (*names, *own.get(kind, ()))
