"""The part of OpenAPI v3 that kubectl reads: that PATCH takes `fieldValidation`, for each kind."""

from sandbox.kubernetes.kinds import ALL, GROUPS, Kind
from sandbox.kubernetes.objects import Obj

_QUERY = ("dryRun", "fieldManager", "fieldValidation")


def index() -> Obj:
    """`/openapi/v3`: where each group's document is."""
    paths = (_base(group, version) for group, version in GROUPS)
    return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in paths}}


def document(path: str) -> Obj | None:
    """A group's document, e.g. for `apis/apps/v1`; None when there is no such group."""
    wanted = [kind for kind in ALL if _base(kind.group, kind.version) == path]
    if not wanted:
        return None
    paths = {_object_path(kind): {"patch": _patch(kind)} for kind in wanted}
    info = {"title": "Kubernetes", "version": "unversioned"}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": {}}}


def _base(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _object_path(kind: Kind) -> str:
    namespace = "/namespaces/{namespace}" if kind.namespaced else ""
    return f"/{_base(kind.group, kind.version)}{namespace}/{kind.plural}/{{name}}"


def _patch(kind: Kind) -> Obj:
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in _QUERY]
    identity = {"group": kind.group, "version": kind.version, "kind": kind.name}
    return {
        "operationId": f"patch{kind.name}",
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": identity,
    }
