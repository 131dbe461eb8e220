"""The request budget of a project: a bucket that refills evenly and the three headers that tell of it."""

import math
from datetime import datetime, timedelta

from sandbox.hetzner.records import Bucket


def take(bucket: Bucket, limit: int, now: datetime) -> bool:
    """Take one request out of `bucket`; False when nothing was left. `limit` is requests an hour."""
    elapsed = max(0.0, (now - bucket.at).total_seconds())
    bucket.level = min(float(limit), bucket.level + elapsed * limit / 3600)
    bucket.at = now
    if bucket.level < 1:
        return False
    bucket.level -= 1
    return True


def headers(bucket: Bucket, limit: int) -> dict[str, str]:
    """The headers of a reply to a request that arrived at `bucket.at`.

    `RateLimit-Reset` is the second at which the bucket will be full again, as measured on live replies. It
    is not the moment the next request is allowed.
    """
    remaining = math.floor(bucket.level)
    full_at = bucket.at + timedelta(seconds=(limit - remaining) * 3600 / limit)
    return {
        "RateLimit-Limit": str(limit),
        "RateLimit-Remaining": str(remaining),
        "RateLimit-Reset": str(math.floor(full_at.timestamp())),
    }
