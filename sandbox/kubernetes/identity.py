"""Who asks: the user that a request was authenticated as."""

from dataclasses import dataclass

MASTERS = "system:masters"
NODES_GROUP = "system:nodes"
NODE_PREFIX = "system:node:"
BOOTSTRAPPERS = "system:bootstrappers"


@dataclass(frozen=True)
class User:
    """A user name with its groups, as authentication found them."""

    name: str
    groups: tuple[str, ...] = ()

    @property
    def is_admin(self) -> bool:
        """Whether everything is allowed."""
        return MASTERS in self.groups

    @property
    def node(self) -> str:
        """The node this user is the kubelet of, empty for everybody else."""
        return self.name.removeprefix(NODE_PREFIX) if NODES_GROUP in self.groups else ""


ADMIN = User("kubernetes-admin", (MASTERS, "system:authenticated"))
CONTROLLERS = User("system:kube-controller-manager", (MASTERS, "system:authenticated"))
ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
