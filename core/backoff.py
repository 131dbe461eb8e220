"""When a pool may create again after a create failed, by the class of the failure."""

from __future__ import annotations

from datetime import datetime, timedelta

from pydantic import BaseModel

from core.cloud_errors import CloudClass

# First and longest pause. Stock doubles from 5 to 30 minutes and quota is probed every 10, so a pool that can
# never get a server sends few creates an hour; a join failure costs a server each time, so it doubles as well.
PAUSES: dict[CloudClass, tuple[timedelta, timedelta]] = {
    CloudClass.STOCK: (timedelta(minutes=5), timedelta(minutes=30)),
    CloudClass.QUOTA: (timedelta(minutes=10), timedelta(minutes=10)),
    CloudClass.THROTTLED: (timedelta(seconds=5), timedelta(seconds=60)),
    CloudClass.BUSY: (timedelta(seconds=10), timedelta(minutes=5)),
    CloudClass.UNKNOWN: (timedelta(seconds=30), timedelta(minutes=5)),
    CloudClass.JOIN: (timedelta(minutes=5), timedelta(minutes=30)),
    CloudClass.CLUSTER: (timedelta(seconds=10), timedelta(minutes=5)),
}


class Backoff(BaseModel):
    """The pause that creates are under. `until` None: nothing but a change of spec or token ends it."""

    cls: CloudClass
    failures: int
    since: datetime
    until: datetime | None
    message: str

    def open(self, now: datetime) -> bool:
        """Whether a create may be tried at `now`."""
        return self.until is not None and now >= self.until


def after_failure(before: Backoff | None, cls: CloudClass, message: str, now: datetime) -> Backoff:
    """The pause after a create failed with `cls` at `now`; it grows while the class stays the same.

    Creates that were in flight together and fail together count as one failure.
    """
    if before is None or before.cls is not cls:
        failures, since = 1, now
    elif before.until is not None and now < before.until:
        return before.model_copy(update={"message": message})
    else:
        failures, since = before.failures + 1, before.since
    pause = PAUSES.get(cls)
    if pause is None:
        return Backoff(cls=cls, failures=failures, since=since, until=None, message=message)
    first, longest = pause
    wait = min(longest, first * 2 ** min(failures - 1, 16))
    return Backoff(cls=cls, failures=failures, since=since, until=now + wait, message=message)
