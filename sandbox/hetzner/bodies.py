"""The bodies of requests, and how a wrong one is refused: every missing or mistyped field at once."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sandbox.hetzner.errors import invalid_fields
from sandbox.hetzner.records import FirewallRule, IpType, NetworkRoute

IdOrName = int | Annotated[str, Field(min_length=1)]
Labels = dict[str, str]


class Body(BaseModel):
    """Types are strict: "5" is no number and 1 no boolean. Keys nobody knows are ignored, as the API does."""

    model_config = ConfigDict(strict=True, extra="ignore")


_Body = TypeVar("_Body", bound=BaseModel)


def parse(model: type[_Body], body: dict[str, Any]) -> _Body:
    """Raises `ApiError` invalid_input that names each wrong field with its messages."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        problems: dict[str, list[str]] = {}
        for problem in error.errors():
            field = str(problem["loc"][0]) if problem["loc"] else "body"
            message = "missing required field" if problem["type"] == "missing" else problem["msg"]
            problems.setdefault(field, []).append(message)
        raise invalid_fields(problems) from None


class PublicNet(Body):
    enable_ipv4: bool = True
    enable_ipv6: bool = True
    ipv4: int | None = None
    ipv6: int | None = None


class FirewallRef(Body):
    firewall: int


class CreateServer(Body):
    name: str
    server_type: IdOrName
    image: IdOrName
    location: IdOrName | None = None
    ssh_keys: list[IdOrName] | None = None
    networks: list[int] | None = None
    firewalls: list[FirewallRef] | None = None
    volumes: list[int] | None = None
    placement_group: int | None = None
    user_data: str | None = None
    labels: Labels | None = None
    automount: bool | None = None
    start_after_create: bool | None = None
    public_net: PublicNet | None = None


class Update(Body):
    name: str | None = None
    labels: Labels | None = None


class UpdatePrimaryIp(Update):
    auto_delete: bool | None = None


class UpdateNetwork(Update):
    expose_routes_to_vswitch: bool | None = None


class ChangeProtection(Body):
    delete: bool | None = None
    rebuild: bool | None = None


class AttachToNetwork(Body):
    network: int
    ip: str | None = None
    alias_ips: list[str] | None = None
    ip_range: str | None = None


class DetachFromNetwork(Body):
    network: int


class AddToPlacementGroup(Body):
    placement_group: int


class CreatePlacementGroup(Body):
    name: str
    type: Literal["spread"]
    labels: Labels | None = None


class CreateSshKey(Body):
    name: str
    public_key: str
    labels: Labels | None = None


class SubnetBody(Body):
    type: Literal["cloud", "server", "vswitch"]
    network_zone: str
    ip_range: str | None = None
    vswitch_id: int | None = None


class CreateNetwork(Body):
    name: str
    ip_range: str
    labels: Labels | None = None
    subnets: list[SubnetBody] | None = None
    routes: list[NetworkRoute] | None = None
    expose_routes_to_vswitch: bool | None = None


class DeleteSubnet(Body):
    ip_range: str


class ServerRef(Body):
    id: int


class SelectorRef(Body):
    selector: str


class FirewallTarget(Body):
    type: Literal["server", "label_selector"]
    server: ServerRef | None = None
    label_selector: SelectorRef | None = None


class CreateFirewall(Body):
    name: str
    labels: Labels | None = None
    rules: list[FirewallRule] | None = None
    apply_to: list[FirewallTarget] | None = None


class SetRules(Body):
    rules: list[FirewallRule]


class ApplyTo(Body):
    apply_to: list[FirewallTarget]


class RemoveFrom(Body):
    remove_from: list[FirewallTarget]


class CreatePrimaryIp(Body):
    name: str
    type: IpType
    assignee_type: Literal["server"] = "server"
    assignee_id: int | None = None
    location: IdOrName | None = None
    auto_delete: bool | None = None
    labels: Labels | None = None


class AssignPrimaryIp(Body):
    assignee_id: int
    assignee_type: Literal["server"]


class ChangeDnsPtr(Body):
    ip: str
    dns_ptr: str | None
