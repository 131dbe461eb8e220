"""Every refusal a person can meet, with the exit code that `lbr` ends with.

    PoolsError                    1  something failed on our side or in the cloud
    ├── FieldRefused              2  a field breaks a rule; names field, rule and next step
    ├── NotFound                  3  no such organization, cluster, pool or credential
    ├── AuthRefused               4  the token or kubeconfig was not accepted
    ├── Conflict                  5  exists with another spec, is in use, or is being deleted
    ├── WaitTimedOut              6  the work goes on; only the waiting ended
    └── SurfaceOff                7  managed node pools are not enabled for the organization

An error crosses Temporal as an `ApplicationError` whose type is `code` and whose first detail is
`ErrorBody`; `from_body` makes it the same error again on the other side.
"""

from __future__ import annotations

from pydantic import BaseModel


class ErrorBody(BaseModel):
    """What crosses process borders: the error's code, its sentence and the next step."""

    code: str
    message: str
    hint: str = ""
    field: str = ""


class PoolsError(Exception):
    """The root: a failure that has a sentence, and a next step where there is one."""

    code = "Failure"
    exit_code = 1

    def __init__(self, message: str, *, hint: str = "", field: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.field = field

    def body(self) -> ErrorBody:
        """The error as data, for Temporal details and for `-o json`."""
        return ErrorBody(code=self.code, message=self.message, hint=self.hint, field=self.field)


class FieldRefused(PoolsError):
    """Input breaks a rule. Nothing was changed."""

    code = "InvalidField"
    exit_code = 2

    def __init__(self, field: str, rule: str, *, hint: str) -> None:
        super().__init__(f"{field}: {rule}", hint=hint, field=field)


class InstanceTypeUnavailable(FieldRefused):
    """The location does not sell the server type."""

    code = "InstanceTypeUnavailable"


class NotFound(PoolsError):
    """The named thing does not exist."""

    code = "NotFound"
    exit_code = 3


class AuthRefused(PoolsError):
    """A token or kubeconfig was refused by the system that it is for."""

    code = "AuthRefused"
    exit_code = 4


class Conflict(PoolsError):
    """The request collides with what exists: another spec, a reference, a deletion under way."""

    code = "Conflict"
    exit_code = 5


class WaitTimedOut(PoolsError):
    """`--wait` reached its `--timeout`; the work itself goes on."""

    code = "WaitTimedOut"
    exit_code = 6


class SurfaceOff(PoolsError):
    """The organization's feature flag is off."""

    code = "SurfaceOff"
    exit_code = 7


def surface_off(organization: str) -> SurfaceOff:
    """The one sentence that a command gives while the surface is off."""
    return SurfaceOff(
        f"managed node pools are not available for organization {organization!r}: "
        "ask your platform administrator to enable them",
        hint=f"an administrator enables them with: lbr org enable {organization}",
    )


_BY_CODE: dict[str, type[PoolsError]] = {
    kind.code: kind for kind in (PoolsError, NotFound, AuthRefused, Conflict, WaitTimedOut, SurfaceOff)
}
_FIELD_KINDS: dict[str, type[FieldRefused]] = {kind.code: kind for kind in (FieldRefused, InstanceTypeUnavailable)}


def from_body(body: ErrorBody) -> PoolsError:
    """The error that `body` was made from; an unknown code becomes a plain failure."""
    if body.code in _FIELD_KINDS:
        rule = body.message.removeprefix(f"{body.field}: ")
        return _FIELD_KINDS[body.code](body.field, rule, hint=body.hint)
    kind = _BY_CODE.get(body.code, PoolsError)
    return kind(body.message, hint=body.hint, field=body.field)
