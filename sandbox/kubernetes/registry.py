"""Create, update, patch and delete with the API server's rules. No HTTP and no waiting in here."""

import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from sandbox.kubernetes import kinds, node_restriction
from sandbox.kubernetes.admission import admit_pod, check_namespace
from sandbox.kubernetes.errors import (
    ApiError,
    Cause,
    already_exists,
    bad_request,
    conflict,
    invalid,
    invalid_as,
    misnamed,
    not_found,
    unlike,
    unlike_stored,
)
from sandbox.kubernetes.identity import CONTROLLERS, User
from sandbox.kubernetes.kinds import Kind
from sandbox.kubernetes.objects import Obj, clone, name_of, namespace_of, random_suffix, stamp, uid_of
from sandbox.kubernetes.options import number_fault
from sandbox.kubernetes.store import Store, Stored
from sandbox.kubernetes.strategies import strategy_of
from sandbox.kubernetes.strategy import Creation
from sandbox.kubernetes.validation import immutable_uid_causes, metadata_causes, wrong

Change = Callable[[Obj], Obj]
INTERNAL = "*"  # the pseudo-subresource of the server's own writes, which may touch every part
_KEPT = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


class Deleted(NamedTuple):
    """An object after a delete: as it lives on, or as it last was when it is `gone`."""

    stored: Stored
    gone: bool


class Registry:
    """The write path of the simulated API over a store and a clock."""

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self.store = store
        self.now = now

    def get(self, kind: Kind, namespace: str, name: str) -> Stored:
        """The object. Raises ApiError 404."""
        found = self.store.get(kind, namespace, name)
        if found is None:
            raise not_found(kind, name)
        return found

    def create(self, kind: Kind, namespace: str, sent: Obj, user: User = CONTROLLERS, dry_run: bool = False) -> Stored:
        """Create an object. Raises ApiError 400, 403, 404 (namespace), 409 or 422."""
        obj = clone(sent)
        _tidy(obj)
        self._identify(kind, namespace, obj)
        check_namespace(self.store, kind, obj)
        strategy = strategy_of(kind)
        strategy.default(obj)
        if kind is kinds.PODS:
            admit_pod(self.store, obj)
        strategy.create(obj, Creation(self.now(), user))
        strategy.default_status(obj)
        if strategy.generation:
            obj["metadata"]["generation"] = 1
        node_restriction.check_write(user, kind, obj, None, "")
        self._check(kind, obj, None)
        if self.store.get(kind, namespace_of(obj), name_of(obj)):
            raise already_exists(kind, name_of(obj))
        return Stored(obj, self.store.version) if dry_run else self.store.put(kind, obj)

    def _identify(self, kind: Kind, namespace: str, obj: Obj) -> None:
        metadata = obj.setdefault("metadata", {})
        if metadata.pop("resourceVersion", ""):
            raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
        if kind.namespaced and metadata.setdefault("namespace", namespace) != namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        if not kind.namespaced:
            metadata.pop("namespace", None)
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = metadata["generateName"] + random_suffix()
        for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "generation", "selfLink"):
            metadata.pop(field, None)
        metadata["uid"] = str(uuid.uuid4())
        metadata["creationTimestamp"] = stamp(self.now())

    def _check(self, kind: Kind, new: Obj, old: Obj | None) -> None:
        causes = [*metadata_causes(kind.plural, new), *strategy_of(kind).validate(new, old)]
        if causes:
            raise _invalid(kind, new, causes)

    def replace(
        self, kind: Kind, sent: Obj, subresource: str = "", user: User = CONTROLLERS, dry_run: bool = False
    ) -> Stored:
        """PUT. Where the kind demands it, the resourceVersion must be given."""
        name = name_of(sent)
        self.get(kind, namespace_of(sent), name)
        if not sent["metadata"].get("resourceVersion") and not strategy_of(kind).unconditional:
            cause = wrong("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid_as(kind.group, kind.plural, name, [cause])

        def replaced(old: Obj) -> Obj:
            uid = sent["metadata"].get("uid")
            if uid and uid != uid_of(old):
                raise conflict(kind, name, unlike_stored(kind, old, uid))
            return clone(sent)

        return self.update(kind, namespace_of(sent), name, replaced, subresource, user=user, dry_run=dry_run)

    def update(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        change: Change,
        subresource: str = "",
        *,
        user: User = CONTROLLERS,
        dry_run: bool = False,
    ) -> Stored:
        """Write what `change` makes of a copy of the object, in one step.

        A write that changes nothing leaves the resourceVersion alone. Raises ApiError 403, 404, 409 or 422.
        """
        stored = self.get(kind, namespace, name)
        old = stored.obj
        new = change(clone(old))
        _tidy(new)
        self._check_identity(kind, old, new)
        self._confine(kind, old, new, subresource)
        node_restriction.check_write(user, kind, new, old, subresource)
        if subresource != INTERNAL:
            self._check(kind, new, old)
        if new == old:
            return stored
        if strategy_of(kind).generation and new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        if dry_run:
            return Stored(new, stored.version)
        written = self.store.put(kind, new)
        if _is_released(new):
            self.store.remove(kind, namespace, name)
        return written

    def _check_identity(self, kind: Kind, old: Obj, new: Obj) -> None:
        metadata = new.setdefault("metadata", {})
        if metadata.get("name", name_of(old)) != name_of(old):
            raise misnamed(metadata["name"], name_of(old))
        version = metadata.get("resourceVersion")
        fault = number_fault(version, signed=False) if version else ""
        if fault:
            raise ApiError(500, "", fault)
        if version and version != old["metadata"]["resourceVersion"]:
            raise conflict(kind, name_of(old))
        causes = [*immutable_uid_causes(new, old)]
        if causes:
            raise _invalid(kind, old, causes)

    def _confine(self, kind: Kind, old: Obj, new: Obj, subresource: str) -> None:
        """Keep a write within its part: status writes touch the status alone, others all but the status."""
        metadata = new["metadata"]
        metadata.pop("managedFields", None)
        for field in (*_KEPT, "resourceVersion", "generation"):
            metadata.pop(field, None)
            if field in old["metadata"]:
                metadata[field] = old["metadata"][field]
        if subresource in ("status", "approval"):
            status = new.get("status", {})
            new.clear()
            new.update({**old, "metadata": metadata, "status": status})
            strategy_of(kind).default_status(new)
        else:
            strategy_of(kind).default(new)
            if kind.status and subresource != INTERNAL:
                new.pop("status", None)
                if "status" in old:
                    new["status"] = old["status"]

    def delete(
        self, kind: Kind, namespace: str, name: str, options: Obj | None = None, user: User = CONTROLLERS
    ) -> Deleted:
        """Delete, at once or gracefully; with finalizers or grace the object lives on for a while.

        Raises ApiError 403, 404 or 409 (preconditions).
        """
        options = options or {}
        stored = self.get(kind, namespace, name)
        self.check_preconditions(kind, stored.obj, options)
        node_restriction.check_delete(user, kind, stored.obj)
        grace = _grace(kind, stored.obj, options)
        finalizers = _finalizers(stored.obj, options)
        marked = clone(stored.obj)
        metadata = marked["metadata"]
        if finalizers:
            metadata["finalizers"] = finalizers
        _mark(metadata, grace, self.now())
        lingers = bool(grace or finalizers)
        if kind is kinds.NAMESPACES:
            marked["status"] = {**marked.get("status", {}), "phase": "Terminating"}
            lingers = True
        # A pod is marked even when it goes at once: those who watch it are told why before it is gone.
        is_marked = (lingers or kind is kinds.PODS) and marked != stored.obj
        if options.get("dryRun"):
            return Deleted(Stored(marked, stored.version) if is_marked else stored, not lingers)
        if is_marked:
            stored = self.store.put(kind, marked)
        return Deleted(stored, False) if lingers else Deleted(self.store.remove(kind, namespace, name), True)

    @staticmethod
    def check_preconditions(kind: Kind, obj: Obj, options: Obj) -> None:
        """Raise ApiError 409 unless UID and resourceVersion are those asked for."""
        wanted = options.get("preconditions") or {}
        metadata = obj["metadata"]
        if wanted.get("uid", metadata["uid"]) != metadata["uid"]:
            raise unlike(kind, name_of(obj), "UID", wanted["uid"], metadata["uid"])
        version = wanted.get("resourceVersion", metadata["resourceVersion"])
        if version != metadata["resourceVersion"]:
            raise unlike(kind, name_of(obj), "ResourceVersion", version, metadata["resourceVersion"])


def _tidy(obj: Obj) -> None:
    """Drop what is not stored: the type, and empty metadata maps."""
    obj.pop("kind", None)
    obj.pop("apiVersion", None)
    for field in ("labels", "annotations", "finalizers", "ownerReferences"):
        if field in obj.get("metadata", {}) and not obj["metadata"][field]:
            del obj["metadata"][field]


def _invalid(kind: Kind, obj: Obj, causes: list[Cause]) -> ApiError:
    """Events are named without their group, whichever API they came by."""
    return invalid(kinds.EVENTS if kind is kinds.NEW_EVENTS else kind, obj["metadata"].get("name", ""), causes)


def _is_released(obj: Obj) -> bool:
    metadata = obj["metadata"]
    waits = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    return bool(metadata.get("deletionTimestamp")) and not waits and not obj.get("spec", {}).get("finalizers")


def _grace(kind: Kind, obj: Obj, options: Obj) -> int:
    """Seconds that a pod gets: none for one that never ran or has ended, and never more than before."""
    if kind is not kinds.PODS:
        return 0
    spec = obj["spec"]
    if not spec.get("nodeName") or obj["status"].get("phase") in ("Succeeded", "Failed"):
        return 0
    asked = options.get("gracePeriodSeconds")
    grace = int(spec["terminationGracePeriodSeconds"] if asked is None else asked)
    if grace < 0:
        grace = 1
    running = obj["metadata"].get("deletionGracePeriodSeconds")
    return grace if running is None else min(grace, running)


def _finalizers(obj: Obj, options: Obj) -> list[str]:
    """The finalizers after a delete with that propagation policy."""
    present = list(obj["metadata"].get("finalizers") or [])
    added = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}.get(options.get("propagationPolicy") or "")
    return [*present, added] if added and added not in present else present


def _mark(metadata: Obj, grace: int, now: datetime) -> None:
    """Write when the object may go; a second delete can only bring that nearer."""
    if metadata.get("deletionGracePeriodSeconds", grace + 1) <= grace:
        return
    if "deletionTimestamp" not in metadata and "generation" in metadata:
        metadata["generation"] += 1
    metadata["deletionTimestamp"] = stamp(now + timedelta(seconds=grace))
    metadata["deletionGracePeriodSeconds"] = grace
