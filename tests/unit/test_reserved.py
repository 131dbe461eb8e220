"""What new nodes are taken to have is never more than they turn out to have, and hardly less."""

from __future__ import annotations

import pytest

from core.autoscale.quantities import CPU, EPHEMERAL, MEMORY, PODS, amounts
from core.autoscale.template import template
from core.calls import JoinMethod, ServerType
from core.reserved import reserved_for
from core.userdata import render
from sandbox.hetzner.catalogue import SERVER_TYPES
from sandbox.hollow.machine import ServerSeen
from sandbox.hollow.registration import node_status
from sandbox.hollow.user_data import parse
from tests.unit.autoscale.builders import spec
from tests.unit.test_userdata import join


@pytest.mark.parametrize("sold", SERVER_TYPES, ids=lambda sold: sold.name)
@pytest.mark.parametrize("method", JoinMethod)
def test_a_template_promises_no_more_than_a_node_has(sold: ServerType, method: JoinMethod) -> None:
    server = ServerType(name=sold.name, cores=sold.cores, memory_gb=sold.memory, disk_gb=sold.disk)
    plan = parse(render(join(method, server=server)))
    seen = ServerSeen(1, "m", "", "203.0.113.1", sold.name, sold.cores, sold.memory, sold.disk, "hel1")
    has, _ = amounts(node_status(seen, plan, "m")["allocatable"])
    promised = template(spec("a"), server, "a-id").allocatable
    for resource in (CPU, MEMORY, EPHEMERAL, PODS):
        assert 0.92 * has[resource] <= promised[resource] <= has[resource], resource


@pytest.mark.parametrize(("cores", "kept"), [(1, 60), (2, 70), (4, 80), (8, 90), (48, 190)])
def test_more_cores_keep_less_of_each(cores: int, kept: int) -> None:
    assert reserved_for(ServerType(name="x", cores=cores, memory_gb=4, disk_gb=40)).cpu == kept
