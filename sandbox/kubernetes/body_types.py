"""Which type a body says it is of, and what the server says when that is not the one it wants."""

from typing import NamedTuple

from sandbox.kubernetes.kinds import Kind
from sandbox.kubernetes.objects import Obj
from sandbox.kubernetes.schema import is_known, type_of

_SCHEME = "pkg/runtime/scheme.go:111"  # the server names the place in its own source that knows all types


class Type(NamedTuple):
    """A type of the API, by group, version and kind."""

    group: str
    version: str
    kind: str

    @property
    def message(self) -> str:
        """Its name in the schema."""
        return type_of(self.group, self.version, self.kind)

    @property
    def api_version(self) -> str:
        """`v1`, or `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version


SCALE = Type("autoscaling", "v1", "Scale")
OPTIONS = Type("meta.k8s.io", "v1", "DeleteOptions")


def type_of_kind(kind: Kind) -> Type:
    """The type of a stored kind's objects."""
    return Type(kind.group, kind.version, kind.name)


def claimed(body: Obj, wanted: Type) -> Type:
    """The type that a body names; what it leaves out is as wanted."""
    group, _, version = str(body.get("apiVersion") or wanted.api_version).rpartition("/")
    return Type(group, version, str(body.get("kind") or wanted.kind))


def unregistered(type_: Type) -> str:
    """There is no such type."""
    return f'no kind "{type_.kind}" is registered for version "{type_.api_version}" in scheme "{_SCHEME}"'


def unconvertible(type_: Type, wanted: Type) -> str:
    """There is such a type, but it is not the wanted one; or there is none."""
    if not is_known(type_.message.removesuffix("List")):
        return unregistered(type_)
    internal = wanted.message.partition(".")[0]
    return f"converting ({type_.version}.{type_.kind}) to ({internal}.{wanted.kind}): unknown conversion"
