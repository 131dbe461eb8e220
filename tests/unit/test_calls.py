"""The limits of the calls: a worker that is lost must be noticed long before people ask why nothing moves."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core import calls, machine_calls
from core.calls import Call

ALL: list[Call] = [
    each for module in (calls, machine_calls) for each in vars(module).values() if isinstance(each, Call)
]
UNNOTICED = timedelta(seconds=30)


@pytest.mark.parametrize("call", ALL, ids=lambda call: call.name)
def test_the_loss_of_a_worker_is_noticed_within_half_a_minute(call: Call) -> None:
    assert min(call.attempt, call.heartbeat or call.attempt) <= UNNOTICED
    assert call.heartbeat is None or call.heartbeat < call.attempt
