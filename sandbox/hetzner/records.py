"""What the simulated cloud remembers: one model a resource, all of them JSON when the state is saved."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

ServerStatus = Literal["initializing", "off", "starting", "running", "stopping", "deleting"]
IpType = Literal["ipv4", "ipv6"]
Access = Literal["read_write", "read_only"]


class Record(BaseModel):
    """Base of everything stored. Unknown keys in a saved state are refused."""

    model_config = ConfigDict(extra="forbid")


class Token(Record):
    """An API token of one project. `value` is the secret; everything that is shown uses `name`."""

    name: str
    value: str = Field(repr=False)
    access: Access
    revoked: bool = False


class Limits(Record):
    """What a project may hold and ask. Defaults are those of a grown account: 100 servers, 3600 requests/h."""

    servers: int = 100
    primary_ips: int = 100
    requests_per_hour: int = Field(default=3600, gt=0)


class Bucket(Record):
    """Requests left to a project at a moment; it refills by itself."""

    level: float
    at: datetime


class ActionError(Record):
    code: str
    message: str


class ResourceRef(Record):
    id: int
    type: str


class Action(Record):
    """An asynchronous step. `due` is when it ends (None: never); `failure` is how, if not well."""

    id: int
    command: str
    status: Literal["running", "success", "error"] = "running"
    started: datetime
    finished: datetime | None = None
    resources: list[ResourceRef]
    parent_id: int | None = None
    due: datetime | None = None
    failure: ActionError | None = None

    def resource(self, kind: str) -> int | None:
        return next((ref.id for ref in self.resources if ref.type == kind), None)


class Resource(Record):
    """What every resource that a user makes has in common."""

    id: int
    name: str
    labels: dict[str, str]
    created: datetime


class PrimaryIp(Resource):
    ip: str
    type: IpType
    location: str
    auto_delete: bool
    assignee_id: int | None = None
    delete_protection: bool = False
    dns_ptr: dict[str, str] = Field(default_factory=dict)


class PlacementGroup(Resource):
    """A spread group; its members are the servers that name it."""


class SshKey(Resource):
    public_key: str
    fingerprint: str


class Subnet(Record):
    type: Literal["cloud", "server", "vswitch"]
    ip_range: str
    network_zone: str
    gateway: str
    vswitch_id: int | None = None


class NetworkRoute(Record):
    destination: str
    gateway: str


class Network(Resource):
    ip_range: str
    subnets: list[Subnet]
    routes: list[NetworkRoute]
    expose_routes_to_vswitch: bool = False
    delete_protection: bool = False


class FirewallRule(Record):
    direction: Literal["in", "out"]
    protocol: Literal["tcp", "udp", "icmp", "esp", "gre"]
    port: str | None = None
    source_ips: list[str] = Field(default_factory=list)
    destination_ips: list[str] = Field(default_factory=list)
    description: str | None = None


class Firewall(Resource):
    """`servers` are those it was applied to by id, `selectors` the label selectors it follows."""

    rules: list[FirewallRule]
    servers: list[int] = Field(default_factory=list)
    selectors: list[str] = Field(default_factory=list)


class PrivateNic(Record):
    """A server's card in a network. Reserved when asked for, visible in the server once `ready`."""

    network: int
    ip: str
    alias_ips: list[str] = Field(default_factory=list)
    mac_address: str
    subnet: str
    state: Literal["attaching", "ok", "detaching"] = "attaching"


class Server(Resource):
    """`running_actions` lock it. `listed_from` is when lists begin to show it."""

    server_type: str
    image: int
    location: str
    status: ServerStatus
    user_data: str = Field(repr=False)
    ssh_keys: list[int]
    ipv4: int | None
    ipv6: int | None
    private_nics: list[PrivateNic] = Field(default_factory=list)
    placement_group: int | None = None
    delete_protection: bool = False
    rebuild_protection: bool = False
    running_actions: list[int] = Field(default_factory=list)
    stuck: bool = False
    listed_from: datetime


class Project(Record):
    """All that belongs to one project; nothing is shared between two of them."""

    id: int
    name: str
    tokens: list[Token]
    bucket: Bucket
    limits: Limits = Field(default_factory=Limits)
    servers: dict[int, Server] = Field(default_factory=dict)
    actions: dict[int, Action] = Field(default_factory=dict)
    primary_ips: dict[int, PrimaryIp] = Field(default_factory=dict)
    placement_groups: dict[int, PlacementGroup] = Field(default_factory=dict)
    ssh_keys: dict[int, SshKey] = Field(default_factory=dict)
    networks: dict[int, Network] = Field(default_factory=dict)
    firewalls: dict[int, Firewall] = Field(default_factory=dict)
