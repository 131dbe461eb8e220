"""From which image a server of some type is made: its name exists once for each processor architecture."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict

from hcloud import Client

from activities.failures import Failure
from activities.project import Projects
from core.calls import ProjectRef
from core.cloud_errors import CloudClass

IMAGE = "ubuntu-24.04"
KEPT_S = 3600.0  # the catalogue changes by the day, and who is refused with what is kept asks anew

_Key = tuple[str, str, str]


class Images:
    """The ids of images, asked for once an hour for each project and server type."""

    def __init__(self, projects: Projects) -> None:
        self._projects = projects
        self._kept: dict[_Key, tuple[float, int]] = {}
        self._locks: dict[_Key, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def of(self, project: ProjectRef, server_type: str) -> int:
        """The image for servers of this type; callers at the same time share the requests. Raises Failure."""
        key = (project.organization, project.credential, server_type)
        async with self._locks[key]:
            read_at, image_id = self._kept.get(key, (0.0, None))
            if image_id is not None and time.monotonic() - read_at < KEPT_S:
                return image_id
            image_id = await self._projects.call(project, lambda client: _image_for(client, server_type))
            self._kept[key] = (time.monotonic(), image_id)
            return image_id

    async def other(self, project: ProjectRef, server_type: str, refused: int) -> int | None:
        """After the cloud refused a create: the image that took the place of `refused`, None where none did.

        Raises Failure, also when the catalogue has lost the type or the image.
        """
        key = (project.organization, project.credential, server_type)
        if self._kept.get(key, (0.0, refused))[1] == refused:
            self._kept.pop(key, None)
        image_id = await self.of(project, server_type)
        return None if image_id == refused else image_id


def _image_for(client: Client, server_type: str) -> int:
    known = client.server_types.get_by_name(server_type)
    if known is None or known.architecture is None:
        raise Failure.of(CloudClass.INVALID, "unknown_server_type", f"there is no server type {server_type}")
    image = client.images.get_by_name_and_architecture(IMAGE, known.architecture)
    if image is None or image.id is None:
        raise Failure.of(CloudClass.INVALID, "unknown_image", f"there is no image {IMAGE} for {known.architecture}")
    return image.id
