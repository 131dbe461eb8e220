"""kill -9 at any moment: the next worker finishes the story, with one server a machine and nothing left."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from sandbox.demo import NOTHING
from tests.integration.sandbox.conftest import Stand

CREATE = ("--credential", "hetzner-prod", "--location", "hel1", "--server-type", "cx23", "--max", "3")
_numbers = itertools.count()


def servers(stand: Stand) -> int:
    return len(stand.proof.cloud("servers"))


def nodes(stand: Stand) -> int:
    return len(stand.proof.cluster("/api/v1/nodes"))


def crash(stand: Stand) -> None:
    """Kill the worker and start another one."""
    stand.box.processes.kill("worker")
    assert "worker" not in stand.box.processes.running()
    stand.box.start_worker()


MOMENTS: dict[str, Callable[[Stand], bool]] = {
    "at once": lambda stand: True,
    "when the first server exists": lambda stand: servers(stand) >= 1,
    "when the first node has joined": lambda stand: nodes(stand) >= 1,
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_while_machines_come_up(stand: Stand, moment: str) -> None:
    name = f"up{next(_numbers)}"
    stand.lbr("cp", "pool", "create", "prod", name, *CREATE, "--min", "2")
    stand.until(moment, lambda: MOMENTS[moment](stand))
    crash(stand)
    stand.until("two ready machines", lambda: stand.pool(name).get("ready") == 2, 90)
    assert (servers(stand), nodes(stand)) == (2, 2)
    stand.lbr("cp", "pool", "delete", "prod", name)
    stand.until("the end of the pool", lambda: stand.pool(name) == {}, 90)
    assert stand.proof.left() == NOTHING


@pytest.mark.parametrize("left", [2, 1, 0])
def test_killed_while_machines_go(stand: Stand, left: int) -> None:
    name = f"down{next(_numbers)}"
    stand.lbr("cp", "pool", "create", "prod", name, *CREATE, "--min", "2", "--wait")
    stand.lbr("cp", "pool", "delete", "prod", name)
    stand.until(f"{left} servers", lambda: servers(stand) <= left)
    crash(stand)
    stand.until("the end of the pool", lambda: stand.pool(name) == {}, 90)
    assert stand.proof.left() == NOTHING


def test_everything_killed_and_started_again(stand: Stand) -> None:
    stand.lbr("cp", "pool", "create", "prod", "whole", *CREATE, "--min", "1", "--wait")
    [before] = stand.proof.cloud("servers")
    for name in stand.box.order:
        stand.box.processes.kill(name)
    stand.box.up()
    stand.until("the pool again", lambda: stand.pool("whole").get("ready") == 1, 90)
    [after] = stand.proof.cloud("servers")
    assert after["id"] == before["id"]
    stand.lbr("cp", "pool", "delete", "prod", "whole", "--wait")
    assert stand.proof.left() == NOTHING
