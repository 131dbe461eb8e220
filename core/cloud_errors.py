"""Hetzner's error codes, sorted by what is to be done about them.

Sources: the error table of the official API document, hcloud-go's error list, and codes seen only in the
field (`placement_group_member_limit_reached`, `unknown_error`).
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel


class CloudClass(StrEnum):
    """A failure's class; the comment is the reaction."""

    BUSY = "Busy"  # retry with jitter, after a look-up if it was a create
    THROTTLED = "Throttled"  # wait seconds: the budget refills one a second
    STOCK = "Stock"  # cool the type and location down, 5 to 30 minutes
    QUOTA = "Quota"  # the project's limit: keep what runs, probe every 10 minutes
    CREDENTIAL = "Credential"  # the token is refused: freeze the pools on it until it is rotated
    INVALID = "Invalid"  # the request can never succeed: no retry until spec or catalogue change
    EXISTS = "Exists"  # look up and adopt if the labels are ours
    GONE = "Gone"  # not found: for a delete that is success
    BLOCKED = "Blocked"  # a person must lift a protection
    UNKNOWN = "Unknown"  # the outcome is not known: look up before anything else
    JOIN = "Join"  # the server came up and its node did not
    CLUSTER = "Cluster"  # the Kubernetes API did not do its part


_CLASSES: dict[CloudClass, tuple[str, ...]] = {
    CloudClass.BUSY: (
        "conflict",
        "locked",
        "bad_gateway",
        "timeout",
        "server_error",
        "service_error",
        "unavailable",
        "maintenance",
        "resource_locked",
        "502",
        "503",
        "504",
    ),
    CloudClass.THROTTLED: ("rate_limit_exceeded",),
    CloudClass.STOCK: ("resource_unavailable", "placement_error", "no_space_left_in_location"),
    CloudClass.QUOTA: ("resource_limit_exceeded",),
    CloudClass.CREDENTIAL: ("unauthorized", "token_readonly", "forbidden"),
    CloudClass.INVALID: (
        "invalid_input",
        "json_error",
        "unsupported_error",
        "deprecated_api_endpoint",
        "invalid_server_type",
        "private_net_only_server",
        "method_not_allowed",
    ),
    CloudClass.EXISTS: ("uniqueness_error",),
    CloudClass.GONE: ("not_found",),
    CloudClass.BLOCKED: ("protected",),
}
_BY_CODE = {code: cls for cls, codes in _CLASSES.items() for code in codes}

# An `invalid_input` that only says that the pair is not to be had today.
_STOCK_MESSAGES = ("unsupported location", "server location disabled", "error during placement")


def classify(code: str, message: str = "") -> CloudClass:
    """The class of an API error; a code that nobody knows is an unknown outcome, never 'gone'."""
    if any(text in message.lower() for text in _STOCK_MESSAGES):
        return CloudClass.STOCK
    return _BY_CODE.get(code, CloudClass.UNKNOWN)


class CloudFailure(BaseModel):
    """A cloud error as data: what crosses from an activity to a workflow as an error's first detail."""

    cls: CloudClass
    code: str
    message: str
    correlation_id: str = ""

    def __str__(self) -> str:
        trail = f", correlation id {self.correlation_id}" if self.correlation_id else ""
        return f"{self.message} ({self.code}{trail})"


RETRY_BY_ITSELF = frozenset({CloudClass.BUSY, CloudClass.THROTTLED, CloudClass.UNKNOWN, CloudClass.CLUSTER})
