"""The system images: each name exists once for every architecture, under an id of its own."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sandbox.hetzner.catalogue import Architecture


@dataclass(frozen=True)
class Image:
    """`created` is the day the image came out, `deprecated` the day its removal was announced."""

    id: int
    name: str
    description: str
    architecture: Architecture
    created: datetime
    deprecated: datetime | None = None

    @property
    def os_flavor(self) -> str:
        return self.name.split("-")[0]

    @property
    def os_version(self) -> str:
        return self.name.rpartition("-")[2]


def _both(
    first_id: int, name: str, description: str, created: datetime, deprecated: datetime | None = None
) -> tuple[Image, Image]:
    return (
        Image(first_id, name, description, "x86", created, deprecated),
        Image(first_id + 1, name, description, "arm", created, deprecated),
    )


# Only the id of ubuntu-24.04 for arm is a known one; the others are made up in the same style.
IMAGES = (
    *_both(103908129, "rocky-9", "Rocky Linux 9", datetime(2023, 3, 20, tzinfo=UTC)),
    *_both(114690386, "debian-12", "Debian 12", datetime(2023, 6, 13, tzinfo=UTC)),
    *_both(103908070, "ubuntu-22.04", "Ubuntu 22.04", datetime(2023, 3, 20, tzinfo=UTC)),
    *_both(161547269, "ubuntu-24.04", "Ubuntu 24.04", datetime(2024, 4, 25, tzinfo=UTC)),
    *_both(310557658, "debian-13", "Debian 13", datetime(2025, 8, 12, tzinfo=UTC)),
    *_both(310557662, "alma-10", "AlmaLinux 10", datetime(2025, 8, 12, tzinfo=UTC)),
    *_both(362104518, "ubuntu-26.04", "Ubuntu 26.04 LTS", datetime(2026, 4, 24, tzinfo=UTC)),
    *_both(
        103908140,
        "alma-8",
        "AlmaLinux 8",
        datetime(2023, 3, 20, tzinfo=UTC),
        deprecated=datetime(2026, 9, 1, tzinfo=UTC),
    ),
)


def find_image(reference: int | str, architecture: Architecture) -> Image | None:
    """By id (of any architecture) or by name for `architecture`; an id may come as digits in a string."""
    for image in IMAGES:
        by_id = reference in {image.id, str(image.id)}
        if by_id or (reference == image.name and image.architecture == architecture):
            return image
    return None
