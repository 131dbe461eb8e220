"""The objects of a cluster that decisions rest on, read once each and again only when they change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from core.autoscale.cluster import Budget
from core.autoscale.pods import Volume
from core.autoscale.selectors import Odd, mapping, maps, node_terms, selector, texts

Json = dict[str, Any]
Kept = TypeVar("Kept")
Change = tuple[Kept | None, Kept | None]  # what was known of an object, and what is
_NO_PROVISIONER = "kubernetes.io/no-provisioner"


class Objects(Generic[Kept]):
    """The objects of one kind by namespace/name, as `read` reads them; None leaves one out. `told` hears of changes.

    One whose resourceVersion is known is not read again: a list of 5,000 pods of which few are new takes 60 ms, one
    of which none is known 600.
    """

    def __init__(self, read: Callable[[Json], Kept | None], told: Callable[[list[Change[Kept]]], None]) -> None:
        self.known: dict[str, Kept] = {}
        self._versions: dict[str, str] = {}
        self._listed: dict[str, tuple[str, Kept | None]] = {}
        self._read = read
        self._told = told

    def begin(self) -> None:
        """A list begins."""
        self._listed = {}

    def page(self, items: list[msgspec.Raw]) -> None:
        """Take in a part of the list."""
        for item in items:
            meta = msgspec.json.decode(item, type=_Identified).metadata
            unchanged = self._versions.get(meta.key) == meta.version
            kept = self.known.get(meta.key) if unchanged else self._read(msgspec.json.decode(item))
            self._listed[meta.key] = (meta.version, kept)

    def complete(self) -> None:
        """The list is complete."""
        listed, self._listed = self._listed, {}
        self._versions = {key: version for key, (version, _) in listed.items()}
        self._replace({key: kept for key, (_, kept) in listed.items() if kept is not None})

    def changed(self, kind: str, raw: Json) -> None:
        """Take in one event of a watch."""
        meta = raw["metadata"]
        key = _key(meta.get("namespace", ""), meta["name"])
        before, after = self.known.get(key), None if kind == "DELETED" else self._read(raw)
        if kind == "DELETED":
            self._versions.pop(key, None)
        else:
            self._versions[key] = meta["resourceVersion"]
        if after is None:
            self.known.pop(key, None)
        else:
            self.known[key] = after
        if before != after:
            self._told([(before, after)])

    def reread(self, again: Callable[[Kept], Kept]) -> None:
        """Replace what is known, also of a list under way, by what `again` makes of it."""
        self._listed = {
            key: (version, None if kept is None else again(kept)) for key, (version, kept) in self._listed.items()
        }
        self._replace({key: again(kept) for key, kept in self.known.items()})

    def _replace(self, found: dict[str, Kept]) -> None:
        before, self.known = self.known, found
        changes: list[Change[Kept]] = [
            (before.get(key), found.get(key)) for key in {**before, **found} if before.get(key) != found.get(key)
        ]
        if changes:
            self._told(changes)


class _Meta(msgspec.Struct):
    name: str
    namespace: str = ""
    version: str = msgspec.field(name="resourceVersion", default="")

    @property
    def key(self) -> str:
        return _key(self.namespace, self.name)


class _Identified(msgspec.Struct):
    metadata: _Meta


def _key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


class Asked(Mapping[str, Volume]):
    """The volumes of claims as `read_pod` wants them, noting which of them it asks for."""

    def __init__(self, volumes: Mapping[str, Volume]) -> None:
        self._volumes = volumes
        self.claims: set[str] = set()

    def __getitem__(self, claim: str) -> Volume:
        self.claims.add(claim)
        return self._volumes[claim]

    def __iter__(self) -> Iterator[str]:
        return iter(self._volumes)

    def __len__(self) -> int:
        return len(self._volumes)


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


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim: the volume that it names, whether it is bound to it, and its storage class."""

    volume: str
    bound: bool
    storage_class: str


def read_claim(raw: Json) -> Claim:
    """A PersistentVolumeClaim."""
    spec, phase = mapping(raw.get("spec")), mapping(raw.get("status")).get("phase")
    return Claim(str(spec.get("volumeName") or ""), phase == "Bound", str(spec.get("storageClassName") or ""))


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
    """What is known of a volume of a storage class before it is made; None where none is made for its first pod.

    Volumes of a class without a provisioner are there already, on nodes that are there already.
    """
    provisioner = str(raw.get("provisioner") or "")
    if raw.get("volumeBindingMode") != "WaitForFirstConsumer" or provisioner == _NO_PROVISIONER:
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
    return Volume(node_terms(terms), provisioner)


def volumes_of(
    claims: Mapping[str, Claim], volumes: Mapping[str, Volume], classes: Mapping[str, Volume]
) -> dict[str, Volume]:
    """The volume of each claim, by namespace/claim, without those of which nobody can say where they will be.

    These are the scheduler's rules: a claim that names a volume and is not bound to it waits for its controller.
    """
    found = {}
    for key, claim in claims.items():
        if claim.bound:
            volume = volumes.get(claim.volume)
        else:
            volume = None if claim.volume else classes.get(claim.storage_class)
        if volume is not None:
            found[key] = volume
    return found
