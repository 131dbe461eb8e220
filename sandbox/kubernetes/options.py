"""The options of a request, from its query or its body, checked in the server's words."""

import re
from collections.abc import Iterator

from starlette.datastructures import QueryParams

from sandbox.kubernetes.errors import Cause, bad_request, invalid_as
from sandbox.kubernetes.objects import Obj
from sandbox.kubernetes.validation import refused, required, unsupported, wrong

TRUE = ("1", "true", "True")
_GROUP = "meta.k8s.io"
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_POLICIES = ("Foreground", "Background", "Orphan", "nil")
_EXACT, _NOT_OLDER = "Exact", "NotOlderThan"
_LONGEST_MANAGER = 128
_INT64 = 2**63


def is_dry(query: QueryParams) -> bool:
    """Whether nothing is to be kept, of options that were checked."""
    return "dryRun" in query


def check_create(query: QueryParams) -> None:
    """Raise ApiError 422 when a POST has bad options."""
    _check("CreateOptions", _write_causes(query))


def check_update(query: QueryParams) -> None:
    """Raise ApiError 422 when a PUT has bad options."""
    _check("UpdateOptions", _write_causes(query))


def check_patch(query: QueryParams, applies: bool) -> None:
    """Raise ApiError 422 when a PATCH has bad options. Server-side apply needs a field manager."""
    _check("PatchOptions", (*_patch_causes(query, applies), *_write_causes(query)))


def check_delete(options: Obj) -> None:
    """Raise ApiError 422 when a DELETE or an eviction has bad options."""
    _check("DeleteOptions", _delete_causes(options))


def check_list(query: QueryParams) -> None:
    """Raise ApiError 422 when the options of a list contradict each other."""
    _check("ListOptions", _list_causes(query))


def check_watch(query: QueryParams) -> None:
    """Raise ApiError 422 when the options of a watch contradict each other."""
    _check("ListOptions", _watch_causes(query))


def integer(query: QueryParams, name: str) -> int:
    """A number in a query, 0 without one. Raises ApiError 400."""
    text = query.get(name, "")
    fault = number_fault(text, signed=True) if text else ""
    if fault:
        raise bad_request(fault)
    return int(text or 0)


def check_list_version(query: QueryParams) -> int:
    """The resourceVersion of a list, 0 without one. Raises ApiError 400."""
    text = query.get("resourceVersion", "")
    fault = version_fault(text)
    if fault:
        raise bad_request(f"invalid resource version: {fault}")
    return int(text or 0)


def version_fault(text: str) -> str:
    """Why a text is no resourceVersion; empty when it is one."""
    fault = number_fault(text, signed=False) if text else ""
    return f'resourceVersion: Invalid value: "{text}": {fault}' if fault else ""


def number_fault(text: str, signed: bool) -> str:
    """Why a text is no number of 64 bits; empty when it is one."""
    function = "ParseInt" if signed else "ParseUint"
    if not re.fullmatch(r"[+-]?[0-9]+" if signed else r"[0-9]+", text):
        return f'strconv.{function}: parsing "{text}": invalid syntax'
    low, high = (-_INT64, _INT64) if signed else (0, 2 * _INT64)
    return "" if low <= int(text) < high else f'strconv.{function}: parsing "{text}": value out of range'


def _check(what: str, causes: Iterator[Cause] | tuple[Cause, ...]) -> None:
    found = tuple(causes)
    if found:
        raise invalid_as(_GROUP, what, "", found)


def _dry_causes(values: list[str]) -> Iterator[Cause]:
    if any(value != "All" for value in values):
        yield unsupported("dryRun", values, ("All",))


def _write_causes(query: QueryParams) -> Iterator[Cause]:
    if len(query.get("fieldManager", "").encode()) > _LONGEST_MANAGER:
        why = f"Too long: may not be more than {_LONGEST_MANAGER} bytes"
        yield Cause("fieldManager", why, "FieldValueTooLong")
    yield from _dry_causes(query.getlist("dryRun"))
    validation = query.get("fieldValidation", "")
    if validation not in _VALIDATIONS:
        yield unsupported("fieldValidation", validation, _VALIDATIONS)


def _patch_causes(query: QueryParams, applies: bool) -> Iterator[Cause]:
    if applies and not query.get("fieldManager"):
        yield required("fieldManager", "is required for apply patch")
    if not applies and "force" in query:
        yield refused("force", "may not be specified for non-apply patch")


def _delete_causes(options: Obj) -> Iterator[Cause]:
    policy = options.get("propagationPolicy")
    if policy is not None and options.get("orphanDependents") is not None:
        yield wrong("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set")
    elif policy is not None and policy not in _POLICIES[:3]:
        yield unsupported("propagationPolicy", policy, _POLICIES)
    yield from _dry_causes(options.get("dryRun") or [])


def _list_causes(query: QueryParams) -> Iterator[Cause]:
    match, version = query.get("resourceVersionMatch", ""), query.get("resourceVersion", "")
    if "sendInitialEvents" in query:
        yield refused("sendInitialEvents", "sendInitialEvents is forbidden for list")
    if not match:
        return
    field = "resourceVersionMatch"
    if not version:
        yield refused(field, "resourceVersionMatch is forbidden unless resourceVersion is provided")
    if query.get("continue"):
        yield refused(field, "resourceVersionMatch is forbidden when continue is provided")
    if match not in (_EXACT, _NOT_OLDER):
        yield unsupported(field, match, (_EXACT, _NOT_OLDER, ""))
    if match == _EXACT and version == "0":
        yield refused(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')


def _watch_causes(query: QueryParams) -> Iterator[Cause]:
    field, match, initial = "resourceVersionMatch", query.get("resourceVersionMatch", ""), "sendInitialEvents" in query
    if initial and match != _NOT_OLDER:
        yield refused(field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
    if match and not initial:
        yield refused(field, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
    if match and match != _NOT_OLDER:
        yield unsupported(field, match, (_NOT_OLDER,))
    if query.get("continue"):
        yield refused(field, "resourceVersionMatch is forbidden when continue is provided")
