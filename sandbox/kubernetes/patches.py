"""JSON patch (RFC 6902) and JSON merge patch (RFC 7386)."""

from typing import Any

from sandbox.kubernetes.errors import ApiError
from sandbox.kubernetes.objects import Obj, clone


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386: dictionaries merge, null deletes, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def json_patch(target: Obj, operations: list[Any]) -> Obj:
    """RFC 6902. Raises ApiError 422 when it cannot be applied."""
    root: Any = {"": clone(target)}
    for operation in operations:
        try:
            _apply(root, operation)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise _rejected() from error
    patched: Obj = root[""]
    return patched


def _rejected() -> ApiError:
    return ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {})


def _tokens(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise ValueError(f"invalid pointer {pointer!r}")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")]


def _parent(root: Any, pointer: str) -> tuple[Any, str]:
    *steps, last = _tokens(pointer)
    place = root
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    if not isinstance(place, dict | list):
        raise TypeError(f"{pointer} leads through a scalar")
    return place, last


def _get(root: Any, pointer: str) -> Any:
    place, key = _parent(root, pointer)
    return place[int(key)] if isinstance(place, list) else place[key]


def _add(root: Any, pointer: str, value: Any) -> None:
    place, key = _parent(root, pointer)
    if isinstance(place, dict):
        place[key] = value
        return
    index = len(place) if key == "-" else int(key)
    if not 0 <= index <= len(place):
        raise IndexError(f"index {index} out of bounds")
    place.insert(index, value)


def _remove(root: Any, pointer: str) -> Any:
    place, key = _parent(root, pointer)
    return place.pop(int(key)) if isinstance(place, list) else place.pop(key)


def _replace(root: Any, pointer: str, value: Any) -> None:
    """The server also replaces what is missing from an object, against the letter of the RFC."""
    place, key = _parent(root, pointer)
    place[int(key) if isinstance(place, list) else key] = value


def _apply(root: Any, operation: Obj) -> None:
    path = operation["path"]
    match operation["op"]:
        case "add":
            _add(root, path, operation["value"])
        case "remove":
            _remove(root, path)
        case "replace":
            _replace(root, path, operation["value"])
        case "move":
            _add(root, path, _remove(root, operation["from"]))
        case "copy":
            _add(root, path, clone({"v": _get(root, operation["from"])})["v"])
        case "test":
            if _get(root, path) != operation["value"]:
                raise ValueError(f"testing value {path} failed: test failed")
        case unknown:
            raise ValueError(f"unexpected kind: {unknown}")
