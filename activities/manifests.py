"""Applies a manifest, of whatever kinds: each object's path is learned from the API server's discovery."""

from __future__ import annotations

from typing import Any

import yaml

from activities.cluster_api import ClusterApi
from activities.cluster_errors import ClusterError

_FOREIGN = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value")
_FIRST = ("Namespace", "CustomResourceDefinition")  # others of the same manifest live in them or are of their kinds


class _Loader(yaml.SafeLoader):
    """YAML as API servers take it: dates and a lone `=` are text to them, for JSON knows neither.

    Aliases are refused: written out as JSON, a few hundred characters of them outgrow a worker's memory.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not allowed")
        return super().compose_node(parent, index)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in resolvers if tag not in _FOREIGN]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def objects_of(manifest: str) -> list[dict[str, Any]]:
    """The objects of a multi-document YAML, lists unpacked, in the order to apply them. Raises ClusterError."""
    try:
        documents = [document for document in yaml.load_all(manifest, _Loader) if document]
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _bad(f"it is not YAML without aliases ({type(error).__name__})") from error
    objects = [each for document in documents for each in _unpacked(document)]
    if not objects:
        raise _bad("it holds no object")
    return sorted(objects, key=lambda each: each["kind"] not in _FIRST)


async def apply(api: ClusterApi, document: dict[str, Any]) -> str:
    """Create the object, or merge it over the one that exists. Returns kind/name. Raises ClusterError."""
    collection = await _collection(api, document)
    name = f"{document['kind']}/{document['metadata']['name']}"
    try:
        await api.post(collection, document)
    except ClusterError as error:
        if error.status != 409:
            raise
        await api.patch(f"{collection}/{document['metadata']['name']}", document)
    return name


def _unpacked(document: Any) -> list[dict[str, Any]]:
    if not isinstance(document, dict):
        raise _bad("a document of it is no object")
    if str(document.get("kind", "")).endswith("List") and isinstance(document.get("items"), list):
        return [each for item in document["items"] for each in _unpacked(item)]
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not all(text and isinstance(text, str) for text in (document.get("apiVersion"), document.get("kind"), name)):
        raise _bad("an object of it lacks apiVersion, kind or metadata.name")
    return [document]


async def _collection(api: ClusterApi, document: dict[str, Any]) -> str:
    version, kind = document["apiVersion"], document["kind"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    for resource in (await api.get(base))["resources"]:
        if resource["kind"] == kind and "/" not in resource["name"]:
            namespace = document["metadata"].get("namespace") or "default"
            scope = f"/namespaces/{namespace}" if resource["namespaced"] else ""
            return f"{base}{scope}/{resource['name']}"
    raise ClusterError(404, "NotFound", f"it does not know the kind {kind} of {version}")


def _bad(why: str) -> ClusterError:
    return ClusterError(None, "BadManifest", f"the manifest cannot be applied: {why}")
