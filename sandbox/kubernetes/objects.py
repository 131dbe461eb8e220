"""Small readers for Kubernetes objects, which are plain JSON dictionaries here."""

import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

Obj = dict[str, Any]
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"  # letters of generated names: no vowels, so no words


def random_suffix() -> str:
    """The end of a generated name."""
    return "".join(_SUFFIX[byte % len(_SUFFIX)] for byte in secrets.token_bytes(5))


def clone(obj: Obj) -> Obj:
    """A deep copy. Going through JSON is several times faster than `copy.deepcopy`."""
    copied: Obj = msgspec.json.decode(msgspec.json.encode(obj))
    return copied


def stamp(moment: datetime) -> str:
    """`metav1.Time`: whole seconds, UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> datetime:
    """Read a `Time` or `MicroTime`. Raises ValueError when it is neither."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def name_of(obj: Obj) -> str:
    """`metadata.name`, empty when a client sent none."""
    return str(obj["metadata"].get("name", ""))


def namespace_of(obj: Obj) -> str:
    """`metadata.namespace`, empty for cluster-scoped objects."""
    return str(obj["metadata"].get("namespace", ""))


def uid_of(obj: Obj) -> str:
    """`metadata.uid`."""
    return str(obj["metadata"].get("uid", ""))


def labels_of(obj: Obj) -> dict[str, str]:
    """`metadata.labels`, empty when absent. Not to be changed by the caller."""
    return obj["metadata"].get("labels") or {}


def controller_of(obj: Obj) -> Obj | None:
    """The owner reference with `controller: true`."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def is_deleting(obj: Obj) -> bool:
    """Whether a deletion has been asked for."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def condition(obj: Obj, type_: str) -> Obj | None:
    """The status condition of that type."""
    conditions = obj.get("status", {}).get("conditions") or ()
    return next((entry for entry in conditions if entry.get("type") == type_), None)


def is_true(obj: Obj, type_: str) -> bool:
    """Whether the status condition of that type is True."""
    found = condition(obj, type_)
    return found is not None and found.get("status") == "True"


def set_condition(obj: Obj, wanted: Obj, now: datetime) -> bool:
    """Write a condition into `status`, moving `lastTransitionTime` only when its status changes.

    Says whether anything differs from before.
    """
    conditions: list[Obj] = obj.setdefault("status", {}).setdefault("conditions", [])
    for index, old in enumerate(conditions):
        if old.get("type") == wanted["type"]:
            moved = old.get("status") != wanted["status"]
            since = stamp(now) if moved else old.get("lastTransitionTime", stamp(now))
            conditions[index] = old | wanted | {"lastTransitionTime": since}
            return conditions[index] != old
    conditions.append(wanted | {"lastTransitionTime": stamp(now)})
    return True


def is_finished(pod: Obj) -> bool:
    """Whether the pod's containers have ended for good."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def owner_reference(api_version: str, kind: str, owner: Obj) -> Obj:
    """A controlling owner reference to `owner`."""
    reference = {"apiVersion": api_version, "kind": kind, "name": name_of(owner), "uid": uid_of(owner)}
    return reference | {"controller": True, "blockOwnerDeletion": True}


def dig(obj: Obj, path: Iterable[str]) -> Any:
    """The value at a path of keys, None when any step is missing."""
    value: Any = obj
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value
