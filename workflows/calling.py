"""Calling activities and refusing requests: the one place that knows retry policies and error forms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeVar

from pydantic import BaseModel
from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError, TimeoutError, TimeoutType

from core.calls import Call
from core.cloud_errors import CloudClass, CloudFailure
from core.errors import PoolsError

In = TypeVar("In", bound=BaseModel)
Out = TypeVar("Out", bound=BaseModel)

# Activities say themselves which of their failures are final; all others go on until the caller's patience ends.
_RETRY = RetryPolicy(
    initial_interval=timedelta(seconds=1), backoff_coefficient=2.0, maximum_interval=timedelta(seconds=30)
)

# A call that only looks may be left behind at once; of one that changes something the end must be seen.
_CANCELLATION = {
    False: workflow.ActivityCancellationType.TRY_CANCEL,
    True: workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
}
ANSWER_PATIENCE = timedelta(seconds=60)  # for calls whose answer a person waits for


def start(
    call: Call[In, Out], argument: In, *, summary: str, patience: timedelta | None = None
) -> workflow.ActivityHandle[Out]:
    """Start `call`. `patience` bounds all attempts together; None tries until the call succeeds or fails for good."""
    return workflow.start_activity(
        call.name,
        argument,
        result_type=call.gives,
        start_to_close_timeout=call.attempt,
        schedule_to_close_timeout=patience,
        heartbeat_timeout=call.heartbeat,
        cancellation_type=_CANCELLATION[call.mutates],
        retry_policy=_RETRY,
        summary=summary,
    )


async def run(call: Call[In, Out], argument: In, *, summary: str, patience: timedelta | None = None) -> Out:
    """Run `call` to its end. Raises ActivityError; `failure_of` tells what it means."""
    return await start(call, argument, summary=summary, patience=patience)


def drop(handle: workflow.ActivityHandle[Out]) -> None:
    """Cancel a call whose answer is no longer wanted; how it ends is of no interest."""
    handle.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    handle.cancel()


def failure_of(error: ActivityError) -> CloudFailure:
    """What an activity's failure means, from its first detail; anything else has an unknown outcome."""
    cause: BaseException | None = error.cause
    if isinstance(cause, TimeoutError) and cause.type is not TimeoutType.HEARTBEAT and cause.cause is not None:
        cause = cause.cause  # patience ended: the last attempt's own failure says why
    if isinstance(cause, ApplicationError) and cause.details:
        return CloudFailure.model_validate(cause.details[0])
    if isinstance(cause, CancelledError):
        return CloudFailure(cls=CloudClass.UNKNOWN, code="cancelled", message="the step was cancelled")
    message = str(cause or error)
    return CloudFailure(cls=CloudClass.UNKNOWN, code=type(cause or error).__name__, message=message)


@contextmanager
def refusals() -> Iterator[None]:
    """Turn the domain's errors into the form that crosses Temporal; a plain exception would retry for ever."""
    try:
        yield
    except PoolsError as error:
        body = error.body()
        raise ApplicationError(error.message, body.model_dump(), type=body.code, non_retryable=True) from error
    except ActivityError as error:
        failure = failure_of(error)
        body = PoolsError(str(failure), hint="try again; `lbr doctor` shows what does not answer").body()
        raise ApplicationError(body.message, body.model_dump(), type=body.code, non_retryable=True) from error
