"""The change that every resource knows: a new name, a new set of labels."""

from collections.abc import Callable, Mapping

from sandbox.hetzner.bodies import Update
from sandbox.hetzner.labels import check_labels
from sandbox.hetzner.names import check_name, check_unique
from sandbox.hetzner.records import Resource


def update(
    kind: str,
    resource: Resource,
    table: Mapping[int, Resource],
    body: Update,
    check: Callable[[str], None] = check_name,
) -> None:
    """Labels that are given replace the whole set. Raises `ApiError` and changes nothing where one is wrong."""
    if body.name is not None:
        check(body.name)
        check_unique(kind, body.name, table.values(), resource.id)
    if body.labels is not None:
        check_labels(body.labels)
        resource.labels = body.labels
    if body.name is not None:
        resource.name = body.name
