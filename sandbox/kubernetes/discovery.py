"""Discovery: which groups, versions, resources and verbs there are."""

from sandbox.kubernetes.kinds import ALL, GROUPS, PODS, Kind
from sandbox.kubernetes.objects import Obj
from sandbox.kubernetes.reviews import REVIEWS, plural_of
from sandbox.kubernetes.subresources import subresources_of

_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_REVIEW_GROUPS = tuple((review.group, review.version) for review in REVIEWS)


def document(path: str) -> Obj | None:
    """The discovery document of a path, None when it is none."""
    parts = [part for part in path.split("/") if part]
    match parts:
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["api", "v1"]:
            return _resources("", "v1")
        case ["apis"]:
            groups = [_group(g, v) for g, v in (*GROUPS, *_REVIEW_GROUPS) if g]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["apis", name]:
            found = next(((g, v) for g, v in (*GROUPS, *_REVIEW_GROUPS) if g == name), None)
            return {"apiVersion": "v1", **_group(*found), "kind": "APIGroup"} if found else None
        case ["apis", group, version] if (group, version) in (*GROUPS, *_REVIEW_GROUPS):
            return _resources(group, version)
    return None


def is_known_root(path: str) -> bool:
    """Whether a path is below the core API or a group that there is."""
    parts = [part for part in path.split("/") if part]
    known = {group for group, _ in (*GROUPS, *_REVIEW_GROUPS)}
    return parts[:1] == ["api"] or (parts[:1] == ["apis"] and (len(parts) == 1 or parts[1] in known))


def _group(group: str, version: str) -> Obj:
    entry = {"groupVersion": f"{group}/{version}", "version": version}
    return {"name": group, "versions": [entry], "preferredVersion": entry}


def _resources(group: str, version: str) -> Obj:
    entries = [e for kind in ALL if (kind.group, kind.version) == (group, version) for e in _entries(kind)]
    for review in REVIEWS:
        if (review.group, review.version) == (group, version):
            entry: Obj = {"name": plural_of(review), "singularName": review.kind.lower(), "namespaced": False}
            entries.append(entry | {"kind": review.kind, "verbs": ["create"]})
    group_version = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": entries}


def _entries(kind: Kind) -> list[Obj]:
    entry: Obj = {"name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced}
    entry |= {"kind": kind.name, "verbs": _VERBS}
    if kind.short:
        entry["shortNames"] = list(kind.short)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    return [entry, *(_subresource(kind, name) for name in subresources_of(kind))]


def _subresource(kind: Kind, name: str) -> Obj:
    entry: Obj = {"name": f"{kind.plural}/{name}", "singularName": "", "namespaced": kind.namespaced}
    if name == "scale":
        return entry | {
            "group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": ["get", "patch", "update"],
        }  # fmt: skip
    if name == "token":
        token = {"group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest"}
        return entry | token | {"verbs": ["create"]}
    if kind is PODS and name == "eviction":
        return entry | {"group": "policy", "version": "v1", "kind": "Eviction", "verbs": ["create"]}
    if kind is PODS and name == "binding":
        return entry | {"kind": "Binding", "verbs": ["create"]}
    return entry | {"kind": kind.name, "verbs": ["get", "patch", "update"]}
