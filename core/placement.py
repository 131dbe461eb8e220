"""Whether a location sells a server type: the catalogue's answer, judged before anything is stored."""

from __future__ import annotations

from core.calls import Placement
from core.errors import FieldRefused, InstanceTypeUnavailable


def check_placement(location: str, server_type: str, placement: Placement) -> None:
    """Refuse a placement that the catalogue does not offer. Raises FieldRefused, InstanceTypeUnavailable."""
    if location not in placement.known_locations:
        known = ", ".join(sorted(placement.known_locations))
        raise FieldRefused(
            "--location", f"{location!r} is not a location of Hetzner Cloud", hint=f"choose one of: {known}"
        )
    if server_type not in placement.known_types:
        known = ", ".join(sorted(placement.known_types))
        raise FieldRefused("--server-type", f"{server_type!r} is not a server type", hint=f"choose one of: {known}")
    if location not in placement.sold_in:
        sold = ", ".join(sorted(placement.sold_in))
        raise InstanceTypeUnavailable(
            "--server-type",
            f"{server_type} is not offered in {location}",
            hint=f"locations that sell it: {sold}" if sold else "no location sells it today: choose another type",
        )
