"""What can be ordered: locations and server types with their prices, as the cloud listed them in autumn 2026.

Prices are EUR a month, net, without the IPv4 address, noted on 2026-09-08 for the EU. A type whose row ends
in ESTIMATED had no published figure at hand and carries a plausible one. Tests may rely on the order of
prices, nobody on the amounts.
"""

from dataclasses import dataclass
from typing import Literal

Architecture = Literal["x86", "arm"]
ESTIMATED = True


@dataclass(frozen=True)
class Location:
    id: int
    name: str
    city: str
    country: str
    latitude: float
    longitude: float
    network_zone: str

    @property
    def in_eu(self) -> bool:
        return self.network_zone == "eu-central"


@dataclass(frozen=True)
class ServerType:
    """`memory` and `disk` are GB, `monthly` is EUR net without VAT."""

    id: int
    name: str
    cores: int
    memory: int
    disk: int
    monthly: float
    estimated: bool = False

    @property
    def architecture(self) -> Architecture:
        return "arm" if self.name.startswith("cax") else "x86"

    @property
    def dedicated(self) -> bool:
        return self.name.startswith("ccx")

    @property
    def first_generation(self) -> bool:
        return self.name.startswith("cpx") and self.name.endswith("1")

    @property
    def category(self) -> str:
        if self.dedicated:
            return "General Purpose"
        return "Regular Performance" if self.name.startswith("cpx") else "Cost-Optimized"

    def supports(self, location: Location) -> bool:
        """Whether the location ever sold the type: cx, cax and the second cpx generation are EU only."""
        return location.in_eu or self.dedicated or self.first_generation

    def retired(self, location: Location) -> bool:
        """The first cpx generation left the EU at the end of 2025."""
        return self.first_generation and location.in_eu


LOCATIONS = (
    Location(1, "fsn1", "Falkenstein", "DE", 50.47612, 12.370071, "eu-central"),
    Location(2, "nbg1", "Nuremberg", "DE", 49.452102, 11.076665, "eu-central"),
    Location(3, "hel1", "Helsinki", "FI", 60.169855, 24.938379, "eu-central"),
    Location(4, "ash", "Ashburn, VA", "US", 39.045821, -77.487073, "us-east"),
    Location(5, "hil", "Hillsboro, OR", "US", 45.54222, -122.951924, "us-west"),
    Location(6, "sin", "Singapore", "SG", 1.283333, 103.833333, "ap-southeast"),
)

SERVER_TYPES = (
    ServerType(22, "cpx11", 2, 2, 40, 6.99, ESTIMATED),
    ServerType(23, "cpx21", 3, 4, 80, 12.99, ESTIMATED),
    ServerType(24, "cpx31", 4, 8, 160, 23.99, ESTIMATED),
    ServerType(25, "cpx41", 8, 16, 240, 43.99, ESTIMATED),
    ServerType(26, "cpx51", 16, 32, 360, 87.99, ESTIMATED),
    ServerType(45, "cax11", 2, 4, 40, 5.99, ESTIMATED),
    ServerType(93, "cax21", 4, 8, 80, 9.99, ESTIMATED),
    ServerType(94, "cax31", 8, 16, 160, 18.99, ESTIMATED),
    ServerType(95, "cax41", 16, 32, 320, 36.99, ESTIMATED),
    ServerType(96, "ccx13", 2, 8, 80, 42.99),
    ServerType(97, "ccx23", 4, 16, 160, 85.99),
    ServerType(98, "ccx33", 8, 32, 240, 138.49),
    ServerType(99, "ccx43", 16, 64, 360, 275.99),
    ServerType(100, "ccx53", 32, 128, 600, 551.99, ESTIMATED),
    ServerType(101, "ccx63", 48, 192, 960, 827.99, ESTIMATED),
    ServerType(108, "cpx12", 1, 2, 40, 9.99, ESTIMATED),
    ServerType(109, "cpx22", 2, 4, 80, 19.49),
    ServerType(110, "cpx32", 4, 8, 160, 35.49),
    ServerType(111, "cpx42", 8, 16, 320, 69.49),
    ServerType(112, "cpx52", 12, 24, 480, 100.49),
    ServerType(113, "cpx62", 16, 32, 640, 129.99),
    ServerType(114, "cx23", 2, 4, 40, 5.49),
    ServerType(115, "cx33", 4, 8, 80, 8.49),
    ServerType(116, "cx43", 8, 16, 160, 15.99),
    ServerType(117, "cx53", 16, 32, 320, 29.49),
)


LOCATION = {item.name: item for item in LOCATIONS}
SERVER_TYPE = {item.name: item for item in SERVER_TYPES}


def find_location(reference: int | str) -> Location | None:
    """By id or name; an id may come as digits in a string."""
    return next((item for item in LOCATIONS if reference in {item.id, item.name, str(item.id)}), None)


def find_server_type(reference: int | str) -> ServerType | None:
    """By id or name; an id may come as digits in a string."""
    return next((item for item in SERVER_TYPES if reference in {item.id, item.name, str(item.id)}), None)
