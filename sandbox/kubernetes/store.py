"""The objects of the simulated cluster with their history: what etcd is to a real one.

Stored objects are never changed in place, so their JSON can be kept and sent again and again.
`kind` and `apiVersion` are not stored: items of a list go without them, as on a real server.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from sandbox.kubernetes.kinds import PODS, STORED, Kind
from sandbox.kubernetes.objects import Obj, is_deleting, name_of, namespace_of, uid_of

Key = tuple[str, str]
HISTORY = 5_000  # changes remembered per resource; a watch from further back answers 410


class Stored:
    """One version of one object, with its JSON made at most once."""

    __slots__ = ("_body", "obj", "version")

    def __init__(self, obj: Obj, version: int) -> None:
        self.obj = obj
        self.version = version
        self._body: bytes | None = None

    @property
    def body(self) -> bytes:
        """The object as JSON, without `kind` and `apiVersion`."""
        if self._body is None:
            self._body = msgspec.json.encode(self.obj)
        return self._body

    def full(self, kind: Kind) -> bytes:
        """The object as JSON, with `kind` and `apiVersion`."""
        head = f'{{"kind":"{kind.name}","apiVersion":"{kind.api_version}",'
        return head.encode() + self.body[1:]


class Change(NamedTuple):
    """What happened at `version`: no `old` is a creation, no `new` a deletion.

    For a deletion `old` is the last state, carrying the resourceVersion of the deletion.
    """

    version: int
    kind: Kind
    old: Stored | None
    new: Stored | None


Listener = Callable[[Change], None]


class Store:
    """All objects by resource, namespace and name; every write takes the next resourceVersion."""

    def __init__(self) -> None:
        self.version = 0
        self._floor: dict[str, int] = defaultdict(int)
        self._objects: dict[str, dict[Key, Stored]] = defaultdict(dict)
        self._history: dict[str, deque[Change]] = defaultdict(deque)
        self._pods_by_node: dict[str, dict[Key, Stored]] = defaultdict(dict)
        self._owned: dict[str, dict[tuple[str, Key], Stored]] = defaultdict(dict)
        self._by_uid: dict[str, tuple[Kind, Obj]] = {}
        self._deleting: dict[str, tuple[Kind, Obj]] = {}
        self._listeners: list[Listener] = []

    def get(self, kind: Kind, namespace: str, name: str) -> Stored | None:
        """The current version, None when there is no such object."""
        return self._objects[kind.storage].get((namespace, name))

    def all(self, kind: Kind, namespace: str = "") -> list[Stored]:
        """Objects in the order of their keys, as etcd gives them. No namespace means all."""
        objects = self._objects[kind.storage]
        if not namespace:
            return [objects[key] for key in sorted(objects)]
        return [objects[key] for key in sorted(key for key in objects if key[0] == namespace)]

    def count(self, kind: Kind) -> int:
        """How many objects there are."""
        return len(self._objects[kind.storage])

    def objs(self, kind: Kind, namespace: str = "") -> Iterator[Obj]:
        """As `all`, the objects alone. Not to be changed."""
        return (stored.obj for stored in self.all(kind, namespace))

    def pods_on(self, node: str) -> list[Stored]:
        """Pods bound to a node; an empty name gives those bound to none."""
        pods = self._pods_by_node.get(node, {})
        return [pods[key] for key in sorted(pods)]

    def owned_by(self, uid: str, kind: Kind | None = None) -> list[Obj]:
        """Objects with an owner reference to that UID, of all kinds unless one is named."""
        owned = self._owned.get(uid, {})
        return [s.obj for (storage, _), s in sorted(owned.items()) if kind is None or storage == kind.storage]

    def by_uid(self, uid: str) -> Obj | None:
        """The object of that UID."""
        found = self._by_uid.get(uid)
        return found[1] if found else None

    def deleting(self) -> list[tuple[Kind, Obj]]:
        """Objects whose deletion was asked for and that are still there."""
        return list(self._deleting.values())

    def owned_with_kind(self, uid: str) -> list[tuple[Kind, Obj]]:
        """As `owned_by`, with the kind of each."""
        return [(STORED[storage], s.obj) for (storage, _), s in sorted(self._owned.get(uid, {}).items())]

    def owner_uids(self) -> list[str]:
        """The UIDs that some owner reference names."""
        return [uid for uid, owned in self._owned.items() if owned]

    def put(self, kind: Kind, obj: Obj) -> Stored:
        """Write a new version. The caller gives up the object."""
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        key = (namespace_of(obj), name_of(obj))
        old = self._objects[kind.storage].get(key)
        new = Stored(obj, self.version)
        self._forget(kind, key, old)
        self._objects[kind.storage][key] = new
        self._remember(kind, key, new)
        self._record(Change(self.version, kind, old, new))
        return new

    def remove(self, kind: Kind, namespace: str, name: str) -> Stored:
        """Delete, giving the last state. Raises KeyError when there is no such object."""
        old = self._objects[kind.storage].pop((namespace, name))
        self._forget(kind, (namespace, name), old)
        self.version += 1
        metadata = old.obj["metadata"] | {"resourceVersion": str(self.version)}
        last = Stored(old.obj | {"metadata": metadata}, self.version)
        self._record(Change(self.version, kind, last, None))
        return last

    def floor(self, kind: Kind) -> int:
        """The oldest resourceVersion from which a watch can start."""
        return self._floor[kind.storage]

    def since(self, kind: Kind, version: int) -> list[Change]:
        """The changes after a resourceVersion, oldest first."""
        changes: list[Change] = []
        for change in reversed(self._history[kind.storage]):
            if change.version <= version:
                break
            changes.append(change)
        return changes[::-1]

    def compact(self) -> None:
        """Forget all history, so that watches from before answer 410."""
        for storage in STORED:
            self._history[storage].clear()
            self._floor[storage] = self.version

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after each change; the result ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def dump(self) -> Obj:
        """The present state for a snapshot: resourceVersion, and objects by resource."""
        kept = {storage: [s.obj for s in objects.values()] for storage, objects in self._objects.items()}
        return {"version": self.version, "objects": kept}

    def restore(self, dumped: Obj) -> None:
        """Take the state of a snapshot. History is not kept: older watches answer 410."""
        for storage, objects in dumped["objects"].items():
            for obj in objects:
                key = (namespace_of(obj), name_of(obj))
                stored = Stored(obj, int(obj["metadata"]["resourceVersion"]))
                self._objects[storage][key] = stored
                self._remember(STORED[storage], key, stored)
        self.version = int(dumped["version"])
        self.compact()

    def _record(self, change: Change) -> None:
        storage = change.kind.storage
        history = self._history[storage]
        history.append(change)
        if len(history) > HISTORY:
            self._floor[storage] = history.popleft().version
        for listener in tuple(self._listeners):
            listener(change)

    def _remember(self, kind: Kind, key: Key, stored: Stored) -> None:
        uid = uid_of(stored.obj)
        self._by_uid[uid] = (kind, stored.obj)
        if is_deleting(stored.obj):
            self._deleting[uid] = (kind, stored.obj)
        if kind is PODS:
            self._pods_by_node[stored.obj["spec"].get("nodeName", "")][key] = stored
        for owner in stored.obj["metadata"].get("ownerReferences") or ():
            self._owned[owner["uid"]][(kind.storage, key)] = stored

    def _forget(self, kind: Kind, key: Key, stored: Stored | None) -> None:
        if stored is None:
            return
        self._by_uid.pop(uid_of(stored.obj), None)
        self._deleting.pop(uid_of(stored.obj), None)
        if kind is PODS:
            self._pods_by_node[stored.obj["spec"].get("nodeName", "")].pop(key, None)
        for owner in stored.obj["metadata"].get("ownerReferences") or ():
            owned = self._owned[owner["uid"]]
            owned.pop((kind.storage, key), None)
            if not owned:
                del self._owned[owner["uid"]]
