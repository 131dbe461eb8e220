"""The resources that the simulated API serves, with what discovery says of them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One served resource, e.g. group `apps`, version `v1`, plural `deployments`, name `Deployment`."""

    group: str
    version: str
    plural: str
    name: str
    namespaced: bool = True
    short: tuple[str, ...] = ()
    status: bool = False
    scale: bool = False
    categories: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """`v1` for the core group, else `group/version`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """The name used in messages: `pods`, `deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified(self) -> str:
        """The kind used in validation messages: `Pod`, `Deployment.apps`."""
        return f"{self.name}.{self.group}" if self.group else self.name

    @property
    def singular(self) -> str:
        """Lower-case kind, as kubectl accepts it."""
        return self.name.lower()

    @property
    def storage(self) -> str:
        """The key under which objects are kept: both event APIs show the same objects."""
        return "events" if self.plural == "events" else self.resource


NAMESPACES = Kind("", "v1", "namespaces", "Namespace", namespaced=False, short=("ns",), status=True)
NODES = Kind("", "v1", "nodes", "Node", namespaced=False, short=("no",), status=True)
PODS = Kind("", "v1", "pods", "Pod", short=("po",), status=True, categories=("all",))
SECRETS = Kind("", "v1", "secrets", "Secret")
CONFIG_MAPS = Kind("", "v1", "configmaps", "ConfigMap", short=("cm",))
SERVICE_ACCOUNTS = Kind("", "v1", "serviceaccounts", "ServiceAccount", short=("sa",))
EVENTS = Kind("", "v1", "events", "Event", short=("ev",))
NEW_EVENTS = Kind("events.k8s.io", "v1", "events", "Event", short=("ev",))
SERVICES = Kind("", "v1", "services", "Service", short=("svc",), status=True, categories=("all",))
CLAIMS = Kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", short=("pvc",), status=True)
VOLUMES = Kind("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False, short=("pv",), status=True)
REPLICA_SETS = Kind(
    "apps", "v1", "replicasets", "ReplicaSet", short=("rs",), status=True, scale=True, categories=("all",)
)
DEPLOYMENTS = Kind(
    "apps", "v1", "deployments", "Deployment", short=("deploy",), status=True, scale=True, categories=("all",)
)
DAEMON_SETS = Kind("apps", "v1", "daemonsets", "DaemonSet", short=("ds",), status=True, categories=("all",))
JOBS = Kind("batch", "v1", "jobs", "Job", status=True, categories=("all",))
BUDGETS = Kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", short=("pdb",), status=True)
LEASES = Kind("coordination.k8s.io", "v1", "leases", "Lease")
ATTACHMENTS = Kind("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", namespaced=False, status=True)
SIGNING_REQUESTS = Kind(
    "certificates.k8s.io",
    "v1",
    "certificatesigningrequests",
    "CertificateSigningRequest",
    namespaced=False,
    short=("csr",),
    status=True,
)
PRIORITY_CLASSES = Kind("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False, short=("pc",))
CLUSTER_ROLES = Kind("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS = Kind(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
ROLES = Kind("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS = Kind("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")

ALL = (
    NAMESPACES, NODES, PODS, SECRETS, CONFIG_MAPS, SERVICE_ACCOUNTS, EVENTS, SERVICES, CLAIMS, VOLUMES,
    NEW_EVENTS, REPLICA_SETS, DEPLOYMENTS, DAEMON_SETS, JOBS, BUDGETS, LEASES, ATTACHMENTS,
    SIGNING_REQUESTS, PRIORITY_CLASSES, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, ROLES, ROLE_BINDINGS,
)  # fmt: skip

BY_PATH = {(kind.group, kind.version, kind.plural): kind for kind in ALL}
STORED = {kind.storage: kind for kind in reversed(ALL)}
GROUPS = tuple(dict.fromkeys((kind.group, kind.version) for kind in ALL))
