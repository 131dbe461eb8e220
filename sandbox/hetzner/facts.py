"""What the machine itself knows of a server: handed to whoever plays the machine inside it."""

from dataclasses import dataclass

from sandbox.hetzner.records import Project, Server


@dataclass(frozen=True)
class ServerFacts:
    """The metadata and user-data that a booting machine reads. Unlike the API it includes `user_data`."""

    id: int
    project: str
    name: str
    status: str
    server_type: str
    location: str
    labels: dict[str, str]
    user_data: str
    public_ipv4: str | None
    private_ips: tuple[str, ...]

    @property
    def provider_id(self) -> str:
        return f"hcloud://{self.id}"


def facts_of(project: Project, server: Server) -> ServerFacts:
    ipv4 = None if server.ipv4 is None else project.primary_ips.get(server.ipv4)
    return ServerFacts(
        id=server.id,
        project=project.name,
        name=server.name,
        status=server.status,
        server_type=server.server_type,
        location=server.location,
        labels=dict(server.labels),
        user_data=server.user_data,
        public_ipv4=None if ipv4 is None else ipv4.ip,
        private_ips=tuple(nic.ip for nic in server.private_nics if nic.state == "ok"),
    )
