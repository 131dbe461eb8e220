"""k3s alone serves its authority to whoever asks, and its agents compare it with the hash in their token."""

import hashlib

import pytest

from tests.cluster_world import World, eventually


@pytest.mark.parametrize("right", [True, False])
async def test_a_full_token_pins_the_authority(world: World, right: bool) -> None:
    pem = world.ca_pem if right else "another"
    token = f"K10{hashlib.sha256(pem.encode()).hexdigest()}::{await world.bootstrap_token()}"
    world.nodes.boot(world.server(1, token))
    if right:
        await eventually(lambda: world.node_if("pool-1", "True"))
        return

    async def refused() -> bool:
        node = world.nodes.get("pool-1")
        return node is not None and "CA hash does not match" in node.trouble

    await eventually(refused)
    assert (await world.core.list_node()).items == []
