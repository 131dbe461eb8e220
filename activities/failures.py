"""How an activity tells a workflow what went wrong: one form for all, and what Temporal is to do about it."""

from __future__ import annotations

from datetime import timedelta

from temporalio.exceptions import ApplicationError

from core.cloud_errors import RETRY_BY_ITSELF, CloudClass, CloudFailure

# A throttled project refills one request a second; a handful of seconds is enough for one more call.
_THROTTLED_PAUSE = timedelta(seconds=5)


class Failure(Exception):
    """A classified failure inside the activities, before it becomes Temporal's."""

    def __init__(self, failure: CloudFailure) -> None:
        super().__init__(str(failure))
        self.failure = failure

    @classmethod
    def of(cls, kind: CloudClass, code: str, message: str) -> Failure:
        """A failure that we found ourselves."""
        return cls(CloudFailure(cls=kind, code=code, message=message))


def as_application_error(failure: CloudFailure, *, final: bool = False) -> ApplicationError:
    """The error to raise from an activity. `final` ends the retries also of a class that is usually retried."""
    pause = _THROTTLED_PAUSE if failure.cls is CloudClass.THROTTLED else None
    return ApplicationError(
        str(failure),
        failure.model_dump(mode="json"),
        type=failure.cls.value,
        non_retryable=final or failure.cls not in RETRY_BY_ITSELF,
        next_retry_delay=pause,
    )
