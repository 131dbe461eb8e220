"""What is left to order: per server type and location, and locations that are switched off as a whole.

`available` in the list of server types is a cached opinion of the real cloud, so it can be set apart from
what an order then meets.
"""

from datetime import UTC, datetime

from pydantic import Field

from sandbox.hetzner.catalogue import Location, ServerType
from sandbox.hetzner.records import Record


class Deprecation(Record):
    announced: datetime
    unavailable_after: datetime


# The first cpx generation: announced with the cx one on 2025-10-16, gone from the EU after that year.
CPX_LEFT_THE_EU = Deprecation(
    announced=datetime(2025, 10, 16, tzinfo=UTC), unavailable_after=datetime(2025, 12, 31, tzinfo=UTC)
)


class Level(Record):
    """`remaining` orders are filled (None: any number). `advertised` overrides what lists say about it."""

    remaining: int | None = None
    advertised: bool | None = None


class Stock(Record):
    """Pairs that are not named have everything in stock."""

    levels: dict[str, Level] = Field(default_factory=dict)
    deprecations: dict[str, Deprecation] = Field(default_factory=dict)
    disabled_locations: set[str] = Field(default_factory=set)

    def set_level(self, server_type: str, location: str, remaining: int | None, advertised: bool | None = None) -> None:
        """`remaining=0` with `advertised=True` is the stale flag that lures an order into a 412."""
        self.levels[_pair(server_type, location)] = Level(remaining=remaining, advertised=advertised)

    def enable_location(self, location: str, enabled: bool) -> None:
        if enabled:
            self.disabled_locations.discard(location)
        else:
            self.disabled_locations.add(location)

    def deprecate(self, server_type: str, location: str, deprecation: Deprecation) -> None:
        self.deprecations[_pair(server_type, location)] = deprecation

    def deprecation(self, server_type: ServerType, location: Location) -> Deprecation | None:
        if server_type.retired(location):
            return CPX_LEFT_THE_EU
        return self.deprecations.get(_pair(server_type.name, location.name))

    def supported(self, server_type: ServerType, location: Location, now: datetime) -> bool:
        """Whether the location still sells the type at all, whatever is in stock."""
        deprecation = self.deprecation(server_type, location)
        expired = deprecation is not None and deprecation.unavailable_after < now
        return server_type.supports(location) and not expired

    def orderable(self, server_type: ServerType, location: Location, now: datetime) -> bool:
        enabled = location.name not in self.disabled_locations
        remaining = self._level(server_type, location).remaining
        return enabled and remaining != 0 and self.supported(server_type, location, now)

    def advertised(self, server_type: ServerType, location: Location, now: datetime) -> bool:
        """What `locations[].available` says."""
        opinion = self._level(server_type, location).advertised
        return self.orderable(server_type, location, now) if opinion is None else opinion

    def take(self, server_type: ServerType, location: Location) -> None:
        level = self._level(server_type, location)
        if level.remaining:
            level.remaining -= 1

    def _level(self, server_type: ServerType, location: Location) -> Level:
        return self.levels.get(_pair(server_type.name, location.name), Level())


def _pair(server_type: str, location: str) -> str:
    return f"{server_type}@{location}"
