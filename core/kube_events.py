"""Kubernetes events about pods and nodes, in the form in which `kubectl describe` and `kubectl get events` show them.

Source: client-go's recorder: an event that is told again is the known one with a higher count.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

COMPONENT = "node-pools"
LONGEST_MESSAGE = 1024  # the API server's limit for events
LONGEST_NAME = 253  # of any object
REMEMBERED = timedelta(hours=1)  # for how long the API server keeps an event, by default
AGAIN = timedelta(minutes=30)


class EventReason(StrEnum):
    """Why an event is told, by Cluster Autoscaler's names."""

    TRIGGERED = "TriggeredScaleUp"
    NOT_TRIGGERED = "NotTriggerScaleUp"
    SCALE_DOWN = "ScaleDown"
    SCALE_DOWN_FAILED = "ScaleDownFailed"


class AboutKind(StrEnum):
    """What an event can be about."""

    POD = "Pod"
    NODE = "Node"


@dataclass(frozen=True, slots=True)
class About:
    """The object that an event is about. `kubectl describe` finds a pod's events by its UID."""

    kind: AboutKind
    name: str
    uid: str = ""
    namespace: str = ""

    @property
    def home(self) -> str:
        """The namespace of its events."""
        return self.namespace or "default"

    @property
    def reference(self) -> dict[str, str]:
        """The ObjectReference. A node whose UID is not known is referred to as kubelets do, by its name."""
        uid = self.uid or (self.name if self.kind is AboutKind.NODE else "")
        parts = {"name": self.name, "namespace": self.namespace, "uid": uid}
        return {"apiVersion": "v1", "kind": self.kind.value, **{key: text for key, text in parts.items() if text}}


@dataclass(frozen=True, slots=True)
class Saying:
    """What is said of an object; said again, it is the same event."""

    about: About
    reason: str
    message: str
    warning: bool = False

    def event(self, mark: str, instance: str, count: int, first: datetime, last: datetime) -> dict[str, Any]:
        """A new Event, named after the object and `mark`; `instance` is the process that tells it."""
        stem = self.about.name[: LONGEST_NAME - len(mark) - 1].rstrip(".-")
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{stem}.{mark}", "namespace": self.about.home},
            "involvedObject": self.about.reference,
            "type": "Warning" if self.warning else "Normal",
            "reason": self.reason,
            "message": cut(self.message),
            "source": {"component": COMPONENT},
            "reportingComponent": COMPONENT,
            "reportingInstance": instance,
            "firstTimestamp": _stamp(first),
            **again(count, last),
        }


def again(count: int, last: datetime) -> dict[str, Any]:
    """What of an event changes when it is said once more."""
    return {"count": count, "lastTimestamp": _stamp(last)}


def cut(message: str) -> str:
    """A message of a length that the API server takes."""
    return message if len(message) <= LONGEST_MESSAGE else f"{message[: LONGEST_MESSAGE - 1]}…"


@dataclass(frozen=True, slots=True)
class Told:
    """What was last told of an object, and when."""

    message: str
    at: datetime


def worth_telling(before: Told | None, message: str, now: datetime) -> bool:
    """Whether to say of a pod that nothing is done for it: when that is new, and again half an hour later."""
    return before is None or before.message != message or now >= before.at + AGAIN


@dataclass(frozen=True, slots=True)
class Written:
    """An event that is in the cluster: its name, how often it was said, and when last."""

    name: str
    count: int
    last: datetime


class Ledger:
    """The events that are in clusters, by what they say; each for an hour, and of all the `most` latest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[object, Written] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def find(self, key: object, now: datetime) -> Written | None:
        """The event of `key`, if it was said within the hour."""
        while self._known and next(iter(self._known.values())).last + REMEMBERED <= now:
            self._known.popitem(last=False)
        return self._known.get(key)

    def note(self, key: object, written: Written) -> None:
        """Remember that it was written just now."""
        self._known[key] = written
        self._known.move_to_end(key)
        if len(self._known) > self._most:
            self._known.popitem(last=False)


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
