"""Both event APIs show the same objects: `events.k8s.io/v1` names some fields differently."""

from sandbox.kubernetes.objects import Obj

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
