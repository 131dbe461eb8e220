"""Reads request paths: `/api/v1/namespaces/NS/pods/NAME/eviction` and the like."""

from dataclasses import dataclass

from sandbox.kubernetes.kinds import BY_PATH, NAMESPACES, Kind

_NAMESPACE_PARTS = ("status", "finalize")


@dataclass(frozen=True)
class Target:
    """What a path points at. An empty name means the collection, an empty namespace all of them."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    watch: bool = False


def parse(path: str) -> Target | None:
    """The target of a resource path, None when it is none that we serve."""
    parts = [part for part in path.split("/") if part]
    if parts[:2] == ["api", "v1"]:
        return _resource("", "v1", parts[2:])
    if parts[:1] == ["apis"] and len(parts) > 3:
        return _resource(parts[1], parts[2], parts[3:])
    return None


def _resource(group: str, version: str, parts: list[str]) -> Target | None:
    watch = parts[:1] == ["watch"]  # the old prefix form of ?watch=1
    rest = parts[1:] if watch else parts
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2 and rest[2] not in _NAMESPACE_PARTS:
        namespace, rest = rest[1], rest[2:]
    if not rest or len(rest) > 3:
        return None
    kind = BY_PATH.get((group, version, rest[0]))
    if kind is None or (namespace and not kind.namespaced and kind is not NAMESPACES):
        return None
    name, subresource = [*rest[1:], "", ""][:2]
    if kind.namespaced and name and not namespace:
        return None
    return Target(kind, namespace, name, subresource, watch)
