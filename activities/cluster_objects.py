"""The objects of a cluster that decisions rest on, read once each and again only when they change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from core.autoscale.cluster import Budget
from core.autoscale.pods import Volume
from core.autoscale.selectors import Odd, mapping, maps, node_terms, selector, texts

Json = dict[str, Any]
Kept = TypeVar("Kept")


Change = tuple[Kept | None, Kept | None]  # what was known of an object, and what is


class Objects(Generic[Kept]):
    """The objects of one kind by namespace/name, as `read` reads them; None leaves one out. `told` hears of changes."""

    def __init__(self, read: Callable[[Json], Kept | None], told: Callable[[list[Change[Kept]]], None]) -> None:
        self.known: dict[str, Kept] = {}
        self._read = read
        self._told = told

    def replaced(self, items: list[Json]) -> None:
        """Take in a whole list."""
        found = {key_of(raw): kept for raw in items if (kept := self._read(raw)) is not None}
        before, self.known = self.known, found
        changes: list[Change[Kept]] = [
            (before.get(key), found.get(key)) for key in {**before, **found} if before.get(key) != found.get(key)
        ]
        if changes:
            self._told(changes)

    def changed(self, kind: str, raw: Json) -> None:
        """Take in one event of a watch."""
        key = key_of(raw)
        before, after = self.known.get(key), None if kind == "DELETED" else self._read(raw)
        if before == after:
            return
        # A copy is not made: whoever reads while a list is taken in by a thread has the one or the other.
        if after is None:
            self.known.pop(key, None)
        else:
            self.known[key] = after
        self._told([(before, after)])


def key_of(raw: Json) -> str:
    """namespace/name, or the name alone where there is no namespace."""
    meta = raw["metadata"]
    namespace = meta.get("namespace")
    return f"{namespace}/{meta['name']}" if namespace else str(meta["name"])


def read_replicas(raw: Json) -> int:
    """How many pods a controller wants; a Job's parallelism, one where nothing is said."""
    spec = mapping(raw.get("spec"))
    wanted = spec.get("replicas", spec.get("parallelism", 1))
    return wanted if isinstance(wanted, int) else 1


def read_budget(raw: Json) -> Budget | None:
    """A PodDisruptionBudget. An empty selector means every pod of its namespace, a missing one none."""
    meta, spec = raw["metadata"], mapping(raw.get("spec"))
    try:
        chosen = selector((meta["namespace"],), spec.get("selector"))
    except Odd:
        return None  # the API server accepts no such selector
    if chosen is None:
        return None
    return Budget(meta["name"], chosen, int(mapping(raw.get("status")).get("disruptionsAllowed") or 0))


def read_claim(raw: Json) -> tuple[str, str]:
    """The names of a claim's volume, '' while it has none, and of its storage class."""
    spec = mapping(raw.get("spec"))
    bound = mapping(raw.get("status")).get("phase") == "Bound"
    return str(spec.get("volumeName") or "") if bound else "", str(spec.get("storageClassName") or "")


def read_volume(raw: Json) -> Volume | None:
    """Where a PersistentVolume can be attached, and by which driver. None where that cannot be evaluated."""
    spec = mapping(raw.get("spec"))
    driver = str(mapping(spec.get("csi")).get("driver") or "")
    required = mapping(mapping(spec.get("nodeAffinity")).get("required"))
    try:
        return Volume(node_terms(required.get("nodeSelectorTerms")), driver)
    except Odd:
        return None


def read_class(raw: Json) -> Volume | None:
    """What is known of a volume of a storage class before it is made; None where it is not made for its first pod."""
    if raw.get("volumeBindingMode") != "WaitForFirstConsumer":
        return None
    terms = [
        {
            "matchExpressions": [
                {"key": need.get("key"), "operator": "In", "values": texts(need.get("values"))}
                for need in maps(term.get("matchLabelExpressions"))
            ]
        }
        for term in maps(raw.get("allowedTopologies"))
    ]
    return Volume(node_terms(terms), str(raw.get("provisioner") or ""))


def volumes_of(
    claims: Mapping[str, tuple[str, str]], volumes: Mapping[str, Volume], classes: Mapping[str, Volume]
) -> dict[str, Volume]:
    """The volume of each claim, by namespace/claim. One that is not there cannot be said where it may be attached."""
    found = {}
    for key, (name, storage_class) in claims.items():
        volume = volumes.get(name) if name else classes.get(storage_class)
        if volume is not None:
            found[key] = volume
    return found
