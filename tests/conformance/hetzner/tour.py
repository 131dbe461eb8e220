"""A tour of the whole API with the real client library, one short walk for each kind of resource."""

from dataclasses import dataclass, field
from typing import Any

import pytest
import requests
from hcloud import APIException, Client
from hcloud.actions import BoundAction
from hcloud.firewalls import FirewallResource, FirewallResourceLabelSelector, FirewallRule
from hcloud.images import Image
from hcloud.locations import Location
from hcloud.networks import NetworkRoute, NetworkSubnet
from hcloud.server_types import ServerType
from hcloud.servers import BoundServer, ServerCreatePublicNetwork

from sandbox.hetzner import LiveCloud

PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBaaVWtFWxC8wDwpaECCrjlTwbmKk5HhzL3VMyyLb5Bq tour"
CX23, UBUNTU, NUREMBERG = ServerType(name="cx23"), Image(name="ubuntu-24.04"), Location(name="nbg1")


@dataclass
class Exchange:
    method: str
    path: str
    status: int
    body: Any


@dataclass
class Tour:
    """Walks through the API of `world` as its administrator and keeps what came back."""

    world: LiveCloud
    exchanges: list[Exchange] = field(default_factory=list)

    def __post_init__(self) -> None:
        value = self.world.cloud.token("demo", "admin").value
        self.client = Client(value, api_endpoint=f"{self.world.url}/v1", timeout=5, poll_interval=0)
        self.client._client._session.hooks["response"].append(self._keep)

    def _keep(self, response: requests.Response, **_: Any) -> None:
        path = response.request.path_url.removeprefix("/v1").partition("?")[0]
        body = response.json() if response.content else None
        self.exchanges.append(Exchange(response.request.method or "", path, response.status_code, body))

    def done(self, *actions: BoundAction) -> None:
        self.world.advance(30)
        for action in actions:
            action.wait_until_finished(max_retries=1)

    def server(self, name: str, **more: Any) -> BoundServer:
        created = self.client.servers.create(name, CX23, UBUNTU, location=NUREMBERG, **more)
        self.done(created.action, *created.next_actions)
        return created.server

    def walk_everything(self) -> None:
        self.catalogue()
        self.keys_and_groups()
        self.servers()
        self.networks()
        self.firewalls()
        self.primary_ips()
        self.actions()

    def furnish(self) -> None:
        """Leave one of every kind behind."""
        key = self.client.ssh_keys.create("left", PUBLIC_KEY)
        group = self.client.placement_groups.create("left", "spread").placement_group
        subnet = NetworkSubnet(type="cloud", ip_range="10.0.1.0/24", network_zone="eu-central")
        network = self.client.networks.create("left", "10.0.0.0/16", subnets=[subnet])
        wall = self.client.firewalls.create("left").firewall
        self.client.primary_ips.create("ipv4", name="left", location=NUREMBERG)
        self.server("left", ssh_keys=[key], placement_group=group, networks=[network], firewalls=[wall])

    def catalogue(self) -> None:
        client = self.client
        assert client.server_types.get_by_id(client.server_types.get_by_name("cx23").id).cores == 2
        assert client.locations.get_by_id(client.locations.get_by_name("fsn1").id).network_zone == "eu-central"
        arm = client.images.get_by_name_and_architecture("ubuntu-24.04", "arm")
        assert client.images.get_by_id(arm.id).architecture == "arm"
        assert len(client.images.get_all(include_deprecated=True)) > len(client.images.get_all())
        assert client.request("GET", "/pricing")["pricing"]["currency"] == "EUR"
        for path in ("/datacenters", "/datacenters/1"):
            with pytest.raises(APIException) as gone:
                client.request("GET", path)
            assert gone.value.code == "deprecated_api_endpoint"

    def keys_and_groups(self) -> None:
        key = self.client.ssh_keys.create("tour", PUBLIC_KEY, labels={"a": "b"})
        assert self.client.ssh_keys.get_by_fingerprint(key.fingerprint).id == key.id
        key.update(name="renamed")
        assert self.client.ssh_keys.get_by_id(key.id).name == "renamed"
        key.delete()
        group = self.client.placement_groups.create("tour", "spread").placement_group
        group.update(labels={"a": "b"})
        assert self.client.placement_groups.get_by_id(group.id).labels == {"a": "b"}
        assert self.client.placement_groups.get_by_name("tour").id == group.id
        group.delete()

    def servers(self) -> None:
        server = self.server("machine", user_data="#cloud-config", labels={"pool": "a"})
        assert self.client.servers.get_all(label_selector="pool=a", status=["running"])[0].id == server.id
        server.update(labels={"pool": "b"})
        self.done(server.reboot())
        self.done(server.reset())
        self.done(server.shutdown())
        self.done(server.power_on())
        self.done(server.power_off())
        group = self.client.placement_groups.create("spread", "spread").placement_group
        self.done(server.add_to_placement_group(group))
        assert self.client.servers.get_by_id(server.id).placement_group.id == group.id
        self.done(server.remove_from_placement_group())
        self.done(server.change_protection(delete=True, rebuild=True))
        self.done(server.change_protection(delete=False, rebuild=False))
        self.done(server.delete())

    def networks(self) -> None:
        subnet = NetworkSubnet(type="cloud", ip_range="10.0.1.0/24", network_zone="eu-central")
        network = self.client.networks.create("private", "10.0.0.0/16", subnets=[subnet])
        second = NetworkSubnet(type="cloud", ip_range="10.0.2.0/24", network_zone="us-east")
        self.done(network.add_subnet(second))
        self.done(network.delete_subnet(second))
        route = NetworkRoute("10.100.1.0/24", "10.0.1.1")
        self.done(network.add_route(route))
        self.done(network.delete_route(route))
        server = self.server("attached", networks=[network])
        assert [member.id for member in network.get_member_all()] == [server.id]
        assert self.client.servers.get_by_id(server.id).private_net[0].ip == "10.0.1.2"
        self.done(server.detach_from_network(network))
        self.done(server.attach_to_network(network, ip="10.0.1.9"))
        network.update(name="renamed", labels={"a": "b"})
        assert self.client.networks.get_by_id(network.id).servers[0].id == server.id
        self.done(network.change_protection(delete=True))
        self.done(network.change_protection(delete=False))
        assert self.client.networks.get_by_name("renamed").delete()

    def firewalls(self) -> None:
        rule = FirewallRule(direction="in", protocol="tcp", port="22", source_ips=["0.0.0.0/0", "::/0"])
        created = self.client.firewalls.create("wall", rules=[rule])
        firewall = created.firewall
        self.done(*created.actions)
        self.done(*firewall.set_rules([rule]))
        server = self.server("guarded", firewalls=[firewall], labels={"role": "web"})
        by_label = FirewallResource("label_selector", label_selector=FirewallResourceLabelSelector("role=web"))
        self.done(*firewall.apply_to_resources([by_label]))
        assert len(self.client.firewalls.get_by_id(firewall.id).applied_to) == 2
        self.done(*firewall.remove_from_resources([by_label, FirewallResource("server", server)]))
        firewall.update(name="renamed")
        assert self.client.firewalls.get_by_name("renamed").delete()

    def primary_ips(self) -> None:
        made = self.client.primary_ips.create("ipv4", name="kept", location=NUREMBERG, auto_delete=True)
        address = made.primary_ip
        address.update(auto_delete=False, labels={"a": "b"})
        public_net = ServerCreatePublicNetwork(ipv4=address, enable_ipv6=False)
        server = self.server("addressed", public_net=public_net)
        self.done(server.power_off())
        self.done(address.unassign())
        self.done(address.assign(server.id, "server"))
        self.done(address.change_dns_ptr(address.ip, "host.example.com"))
        self.done(address.change_protection(True))
        self.done(address.change_protection(False))
        self.done(server.delete())
        assert self.client.primary_ips.get_by_id(address.id).assignee_id is None
        assert self.client.primary_ips.get_by_name("kept").delete()

    def actions(self) -> None:
        """What the walks before left behind, seen from every side."""
        client = self.client
        server = self.client.servers.get_by_name("guarded")
        last = server.get_actions()[-1]
        assert client.actions.get_by_id(last.id).id == last.id
        assert client.request("GET", "/actions", params={"id": [last.id]})["actions"][0]["id"] == last.id
        for path in ("servers", "networks", "firewalls", "primary_ips"):
            found = client.request("GET", f"/{path}/actions")["actions"]
            kind = path.removesuffix("s")
            owner = next(ref["id"] for ref in found[0]["resources"] if ref["type"] == kind)
            client.request("GET", f"/{path}/actions/{found[0]['id']}")
            client.request("GET", f"/{path}/{owner}/actions/{found[0]['id']}")
            assert client.request("GET", f"/{path}/{owner}/actions")["actions"]
        self._image_actions()

    def _image_actions(self) -> None:
        """An image is a resource of each creation from it."""
        found = self.client.request("GET", "/images/actions")["actions"][0]
        image = next(ref["id"] for ref in found["resources"] if ref["type"] == "image")
        self.client.request("GET", f"/images/actions/{found['id']}")
        self.client.request("GET", f"/images/{image}/actions")
        self.client.request("GET", f"/images/{image}/actions/{found['id']}")
