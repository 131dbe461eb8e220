"""Addresses of the simulated world, all from ranges that are reserved for documentation and benchmarks."""

import ipaddress
from collections.abc import Iterable, Iterator

from sandbox.hetzner.world import Counters

# RFC 5737 and RFC 2544: about 132,000 addresses that nobody can really reach.
_IPV4_RANGES = ("203.0.113.0/24", "198.51.100.0/24", "192.0.2.0/24", "198.18.0.0/15")
# RFC 3849.
_IPV6_RANGE = ipaddress.IPv6Network("2001:db8::/32")


def next_ipv4(counters: Counters) -> str:
    """An address that was not given out before, until all ranges have been through once."""
    networks = [ipaddress.IPv4Network(item) for item in _IPV4_RANGES]
    index = counters.ipv4 % sum(_usable(network) for network in networks)
    counters.ipv4 += 1
    for network in networks:
        if index < _usable(network):
            return str(network[index + 1])
        index -= _usable(network)
    raise AssertionError("the index is below the sum of the ranges")


def next_ipv6(counters: Counters) -> str:
    """A /64 in the notation of the API, such as `2001:db8:0:7::/64`."""
    counters.ipv6 += 1
    base = int(_IPV6_RANGE.network_address) + (counters.ipv6 << 64)
    return f"{ipaddress.IPv6Address(base)}/64"


def free_host(network: str, taken: Iterable[str]) -> str | None:
    """The lowest free address of a subnet; the first one is the gateway's."""
    used = set(taken)
    return next((host for host in _hosts(network) if host not in used), None)


def gateway(network: str) -> str:
    return str(ipaddress.IPv4Network(network)[1])


def mac_address(number: int) -> str:
    """A MAC address of the vendor prefix that the cloud's machines carry."""
    return "86:00:00:" + ":".join(f"{(number >> shift) & 0xFF:02x}" for shift in (16, 8, 0))


def _hosts(network: str) -> Iterator[str]:
    subnet = ipaddress.IPv4Network(network)
    return (str(subnet[index]) for index in range(2, subnet.num_addresses - 1))


def _usable(network: ipaddress.IPv4Network) -> int:
    return network.num_addresses - 2
