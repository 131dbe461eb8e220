"""Applies one object of a manifest, of whatever kind: its path is learned from the API server's discovery."""

from __future__ import annotations

from typing import Any

from activities.cluster_api import ClusterApi
from activities.cluster_errors import ClusterError


async def apply(api: ClusterApi, document: dict[str, Any]) -> str:
    """Create the object, or merge it over the one that exists. Returns kind/name. Raises ClusterError."""
    try:
        kind, name = str(document["kind"]), str(document["metadata"]["name"])
        collection = await _collection(api, str(document["apiVersion"]), kind, document["metadata"].get("namespace"))
    except (KeyError, TypeError) as error:
        raise ClusterError(None, "BadManifest", f"an object of the manifest lacks {error}") from error
    try:
        await api.post(collection, document)
    except ClusterError as error:
        if error.status != 409:
            raise
        await api.patch(f"{collection}/{name}", document)
    return f"{kind}/{name}"


async def _collection(api: ClusterApi, group_version: str, kind: str, namespace: str | None) -> str:
    base = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
    for resource in (await api.get(base))["resources"]:
        if resource["kind"] == kind and "/" not in resource["name"]:
            scope = f"/namespaces/{namespace or 'default'}" if resource["namespaced"] else ""
            return f"{base}{scope}/{resource['name']}"
    raise ClusterError(404, "NotFound", f"the cluster does not know {group_version} {kind}")
