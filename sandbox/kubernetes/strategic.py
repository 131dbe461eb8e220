"""Strategic merge patch: lists of named things merge by their key, other lists are replaced.

The keys are those of the patch tags in the published Kubernetes API types. `spec.taints` of a node and
`tolerations` of a pod have none: a patch with one taint replaces them all.
"""

from typing import Any

from sandbox.kubernetes.errors import bad_request
from sandbox.kubernetes.objects import Obj

_MERGE_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "secrets": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "ports": ("containerPort", "port"),
    "conditions": ("type",),
    "addresses": ("type",),
    "ownerReferences": ("uid",),
    "topologySpreadConstraints": ("topologyKey",),
    "hostAliases": ("ip",),
}
_PRIMITIVE_SETS = ("finalizers", "podCIDRs")
_DELETE_FROM, _ORDER = "$deleteFromPrimitiveList/", "$setElementOrder/"


def strategic(target: Obj, patch: Any) -> Obj:
    """Apply a strategic merge patch. Raises ApiError 400 when a list element misses its merge key."""
    if not isinstance(patch, dict):
        raise bad_request("error decoding patch: expected an object")
    # The type is not a field here, whatever a client says that it were.
    return _merge_map(target, {key: value for key, value in patch.items() if key not in ("kind", "apiVersion")})


def _merge_map(target: Obj, patch: Obj) -> Obj:
    directive = patch.get("$patch")
    plain = {key: value for key, value in patch.items() if not key.startswith("$")}
    if directive == "replace":
        cleaned: Obj = _clean(plain)
        return cleaned
    if directive == "delete":
        return {}
    merged = dict(target)
    for key, value in plain.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge_value(key, merged.get(key), value)
    _keep_only(merged, patch.get("$retainKeys"))
    for key, value in patch.items():
        _directive(merged, key, value)
    return merged


def _keep_only(merged: Obj, names: list[str] | None) -> None:
    if names is not None:
        for key in set(merged) - set(names):
            del merged[key]


def _directive(merged: Obj, key: str, value: Any) -> None:
    if key.startswith(_DELETE_FROM):
        name = key.removeprefix(_DELETE_FROM)
        merged[name] = [entry for entry in merged.get(name) or [] if entry not in value]
    elif key.startswith(_ORDER):
        name = key.removeprefix(_ORDER)
        if merged.get(name):
            merged[name] = _ordered(name, merged[name], value)


def _clean(value: Any) -> Any:
    """Drop directives and nulls from a part that had no counterpart to merge with."""
    if isinstance(value, list):
        deleted = [entry for entry in value if isinstance(entry, dict) and "$patch" in entry]
        return [_clean(entry) for entry in value if entry not in deleted]
    if not isinstance(value, dict):
        return value
    return {k: _clean(v) for k, v in value.items() if v is not None and not k.startswith("$")}


def _merge_value(key: str, old: Any, new: Any) -> Any:
    if isinstance(new, dict):
        return _merge_map(old if isinstance(old, dict) else {}, new)
    if not isinstance(new, list):
        return new
    if key in _PRIMITIVE_SETS:
        return list(dict.fromkeys([*(old or []), *new]))
    if key in _MERGE_KEYS and all(isinstance(entry, dict) for entry in new):
        return _merge_list(key, old or [], new)
    return new


def _key_of(field: str, entry: Obj) -> str:
    return next((name for name in _MERGE_KEYS[field] if name in entry), _MERGE_KEYS[field][0])


def _identity(field: str, entry: Any) -> Any:
    return entry.get(_key_of(field, entry)) if isinstance(entry, dict) else entry


def _merge_list(field: str, old: list[Obj], new: list[Obj]) -> list[Obj]:
    if any(entry.get("$patch") == "replace" for entry in new):
        return [_clean(entry) for entry in new if entry.get("$patch") != "replace"]
    merged = {_identity(field, entry): entry for entry in old}
    for entry in new:
        identity = _identity(field, entry)
        if identity is None:
            raise bad_request(f"map: {entry} does not contain declared merge key: {_MERGE_KEYS[field][0]}")
        if entry.get("$patch") == "delete":
            merged.pop(identity, None)
        else:
            merged[identity] = _merge_map(merged.get(identity, {}), entry)
    return list(merged.values())


def _ordered(field: str, entries: list[Any], order: list[Any]) -> list[Any]:
    """Sort as `$setElementOrder` says; what it does not name keeps its place at the end."""
    if field in _MERGE_KEYS:
        ranks = {_identity(field, entry): rank for rank, entry in enumerate(order)}
        return sorted(entries, key=lambda entry: ranks.get(_identity(field, entry), len(ranks)))
    ranks = {entry: rank for rank, entry in enumerate(order)}
    return sorted(entries, key=lambda entry: ranks.get(entry, len(ranks)))
