"""Events: both APIs show the same objects, `events.k8s.io/v1` names some fields differently and demands more.

The rules depend on `eventTime`: without one it is an event of the old sort, which may leave out nearly all.
"""

from collections.abc import Iterator

from sandbox.kubernetes.errors import Cause
from sandbox.kubernetes.names import qualified_faults
from sandbox.kubernetes.objects import Obj, namespace_of
from sandbox.kubernetes.strategy import Creation, Strategy
from sandbox.kubernetes.validation import faulty, required, wrong

_NEW_TO_OLD = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_OLD_TO_NEW = {old: new for new, old in _NEW_TO_OLD.items()}


def to_core(event: Obj) -> Obj:
    """An `events.k8s.io/v1` event as it is stored, in the form of `v1`."""
    return {_NEW_TO_OLD.get(key, key): value for key, value in event.items()}


def from_core(event: Obj) -> Obj:
    """A stored event in the form of `events.k8s.io/v1`."""
    return {_OLD_TO_NEW.get(key, key): value for key, value in event.items()}


_LONGEST, _LONGEST_MESSAGE = 128, 1024
_SAID = (
    *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type"),
    *("eventTime", "action", "related", "reportingComponent", "reportingInstance"),
)
_SHOWN = {"reportingComponent": "reportingController"}


def _validate(new: Obj, old: Obj | None) -> Iterator[Cause]:
    del old
    yield from _event_causes(new, "reportingComponent")


def _validate_new(new: Obj, old: Obj | None) -> Iterator[Cause]:
    yield from _event_causes(new, "reportingController")
    if old is not None:
        yield from _changed(new, old)
        return
    if not new.get("eventTime"):
        yield required("eventTime")
    type_ = new.get("type", "")
    if type_ not in ("Normal", "Warning"):
        yield wrong("type", "", f"has invalid value: {type_}")


def _changed(new: Obj, old: Obj) -> Iterator[Cause]:
    """What was said of an event stays said; only its series goes on."""
    for field in _SAID:
        if new.get(field) != old.get(field):
            yield wrong(_SHOWN.get(field, field), new.get(field), "field is immutable")


def _event_causes(event: Obj, controller_field: str) -> Iterator[Cause]:
    about, namespace = (event.get("involvedObject") or {}).get("namespace", ""), namespace_of(event)
    timed = bool(event.get("eventTime"))
    homes = {about} if about and not timed else {about, "default", "kube-system"} if timed else {"default"}
    if namespace not in homes:
        yield wrong("involvedObject.namespace", about, "does not match event.namespace")
    if not timed:
        return
    controller = event.get("reportingComponent", "")
    if not controller:
        yield required(controller_field)
    yield from faulty(controller_field, controller, qualified_faults(controller))
    for field in ("reportingInstance", "action", "reason"):
        if not event.get(field):
            yield required(field)
        elif len(event[field]) > _LONGEST:
            yield wrong(field, "", f"can have at most {_LONGEST} characters")
    if len(event.get("message", "")) > _LONGEST_MESSAGE:
        yield wrong("message", "", f"can have at most {_LONGEST_MESSAGE} characters")


def _default(event: Obj) -> None:
    """The API has no absent values for these, only empty ones."""
    for field in ("firstTimestamp", "lastTimestamp", "eventTime"):
        event.setdefault(field, None)
    for field in ("involvedObject", "source"):
        event.setdefault(field, {})
    for field in ("reportingComponent", "reportingInstance"):
        event.setdefault(field, "")


def _as_sent(obj: Obj, creation: Creation) -> None:
    del obj, creation


STRATEGY = Strategy(_default, _as_sent, _validate, upserts=True)
NEW_STRATEGY = Strategy(_default, _as_sent, _validate_new, upserts=True)
