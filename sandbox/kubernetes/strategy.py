"""What differs between kinds when an object is written: defaults, what create resets, validation."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from sandbox.kubernetes.errors import Cause
from sandbox.kubernetes.identity import User
from sandbox.kubernetes.objects import Obj


@dataclass(frozen=True)
class Creation:
    """What a strategy may know about a create: its time and its user."""

    now: datetime
    user: User


def _unchanged(obj: Obj) -> None:
    del obj


def _no_status(obj: Obj, creation: Creation) -> None:
    del creation
    obj.pop("status", None)


def _accept(new: Obj, old: Obj | None) -> Iterable[Cause]:
    del new, old
    return ()


@dataclass(frozen=True)
class Strategy:
    """The rules of one kind.

    `default` fills in fields at every write, `default_status` those of the status; `create` sets what a client
    has no say in; `validate` gets the old version too, None on create. Where `unconditional` is false a PUT
    needs a resourceVersion; where `upserts` is true a PUT may create.
    """

    default: Callable[[Obj], None] = _unchanged
    create: Callable[[Obj, Creation], None] = _no_status
    validate: Callable[[Obj, Obj | None], Iterable[Cause]] = _accept
    unconditional: bool = True
    generation: bool = False
    upserts: bool = False
    default_status: Callable[[Obj], None] = _unchanged
