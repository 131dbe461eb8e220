"""What goes wrong with a Kubernetes API, as one exception, and as Temporal's error."""

from __future__ import annotations

from typing import Any

from temporalio.exceptions import ApplicationError

from activities.failures import as_application_error
from core.cloud_errors import CloudClass, CloudFailure

_BROKEN = (400, 413, 415, 422)
_UNUSABLE = ("BadKubeconfig", "BadManifest")


class ClusterError(Exception):
    """An answer of 400 or more, or no answer at all (`status` None). `body` is the API's Status object.

    `retry_after_s` is how long the server asks to wait, where it does.
    """

    def __init__(
        self,
        status: int | None,
        reason: str,
        message: str,
        body: dict[str, Any] | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(f"{message} ({status or reason})")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after_s = retry_after_s
        self._details: dict[str, Any] = (body or {}).get("details") or {}

    def cause(self, reason: str) -> str | None:
        """The message of the Status cause with `reason`, or None where there is no such cause."""
        causes = self._details.get("causes") or []
        return next((str(cause.get("message", "")) for cause in causes if cause.get("reason") == reason), None)


def failure_of(error: ClusterError) -> CloudFailure:
    """The failure as workflows know it.

    Retried, also when refused: what a cluster forbids today its owner may allow later. Only input that can never
    be accepted is final.
    """
    broken = error.status in _BROKEN or error.reason in _UNUSABLE
    code = str(error.status or error.reason)
    cls = CloudClass.INVALID if broken else CloudClass.CLUSTER
    return CloudFailure(cls=cls, code=code, message=f"the cluster: {error.message}")


def as_temporal(error: ClusterError) -> ApplicationError:
    """The error to raise from an activity."""
    return as_application_error(failure_of(error))
