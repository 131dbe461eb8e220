"""`lbr cp register|list|deregister`: the clusters that pools may join."""

from __future__ import annotations

from pathlib import Path

import click

from core.calls import JoinMethod, Named
from core.endpoint import check_endpoint
from core.errors import FieldRefused
from core.names import check_name
from core.views import ClusterRow
from starter import targets
from starter.arguments import cluster_argument
from starter.invocation import Invocation, output_options
from starter.kubeconfig import read_kubeconfig
from starter.output import Column, say, show_list, show_one
from starter.reads import clusters
from starter.running import profile_of, run
from starter.secrets_in import public_key, seal
from starter.session import Session
from starter.times import age
from workflows.messages import Done, RegisterCluster

COLUMNS: list[Column[ClusterRow]] = [
    Column("NAME", lambda row: row.name),
    Column("HEALTH", lambda row: row.health.value, status=True),
    Column("VERSION", lambda row: row.version or "-"),
    Column("JOIN", lambda row: row.join.value),
    Column("NODES", lambda row: row.nodes),
    Column("POOLS", lambda row: len(row.pools)),
    Column("AGE", lambda row: age(row.registered_at)),
    Column("API-ENDPOINT", lambda row: row.api_endpoint, wide=True),
    Column("CLUSTER-ID", lambda row: row.cluster_id, wide=True),
    Column("MESSAGE", lambda row: row.message, text=True),
]


@click.command()
@click.argument("name")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="How to reach the cluster; its current context is used.",
)
@click.option(
    "--join",
    type=click.Choice([method.value for method in JoinMethod]),
    required=True,
    help="How a machine becomes a node of this cluster.",
)
@click.option("--api-endpoint", metavar="URL", help="Where nodes reach the API, if not at the kubeconfig's server.")
@click.option(
    "--cni-manifest",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A manifest to apply once, for kubeadm clusters that have no CNI yet.",
)
@output_options
@click.pass_obj
def register(
    invocation: Invocation,
    *,
    name: str,
    kubeconfig: Path,
    join: str,
    api_endpoint: str | None,
    cni_manifest: Path | None,
) -> None:
    """Register a Kubernetes cluster as NAME, so that pools may join it.

    The kubeconfig's current context is taken with its certificates and sealed before it leaves this process.
    """
    check_name("NAME", name)
    if api_endpoint is not None:
        check_endpoint("--api-endpoint", api_endpoint)
    content = read_kubeconfig(kubeconfig)
    manifest = _manifest(cni_manifest) if cni_manifest else None
    key = public_key(profile_of(invocation))

    async def work(session: Session) -> ClusterRow:
        request = RegisterCluster(
            name=name,
            sealed=seal(key, content, session.organization, "kubeconfig", name),
            join=JoinMethod(join),
            api_endpoint=api_endpoint,
            cni_manifest=manifest,
        )
        return await session.update(targets.organization(session.organization), "register_cluster", request, ClusterRow)

    row = run(invocation, work)
    show_one(invocation, row, row.name, f"cluster {row.name} registered: {row.health.value}, {row.version}")
    say(
        f"next: lbr cp pool create {row.name} POOL --credential NAME --location hel1 --server-type cx23 --min 1 --max 5"
    )


def _manifest(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise FieldRefused("--cni-manifest", f"{path} cannot be read: {reason}", hint="give a YAML file") from error


@click.command("list")
@output_options
@click.pass_obj
def list_clusters(invocation: Invocation) -> None:
    """List the registered clusters: health, version, nodes and pools."""
    rows = run(invocation, clusters)
    show_list(invocation, rows, COLUMNS, lambda row: row.name)
    if not rows:
        say("no cluster is registered; register one: lbr cp register NAME --kubeconfig FILE --join k3s")


@click.command()
@cluster_argument
@output_options
@click.pass_obj
def deregister(invocation: Invocation, cluster: str) -> None:
    """Forget CLUSTER. Refused while it has pools; nothing in the cluster itself is changed."""

    async def work(session: Session) -> Done:
        target = targets.organization(session.organization)
        return await session.update(target, "deregister_cluster", Named(name=cluster), Done)

    done = run(invocation, work)
    show_one(invocation, done, cluster, f"cluster {cluster} deregistered")
