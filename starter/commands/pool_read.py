"""`lbr cp pool list` and `nodes`."""

from __future__ import annotations

import click

from core.machine import Machine
from core.views import ClusterRow, PoolRow
from starter import targets
from starter.arguments import cluster_argument, pool_argument
from starter.invocation import Invocation, output_options
from starter.live_names import complete_cluster
from starter.output import Column, say, show_list
from starter.reads import pool_view, pools
from starter.running import run
from starter.session import Session
from starter.times import age


def _pool_columns(cluster: str | None) -> list[Column[PoolRow]]:
    return [
        Column("CLUSTER", lambda row: row.cluster, wide=cluster is not None),
        Column("NAME", lambda row: row.name),
        Column("PHASE", lambda row: row.phase, status=True),
        Column("READY", lambda row: f"{row.ready}/{row.target}"),
        Column("SIZE", lambda row: row.size, wide=True),
        Column("MIN", lambda row: row.min),
        Column("MAX", lambda row: row.max),
        Column("TYPE", lambda row: row.server_type),
        Column("LOCATION", lambda row: row.location),
        Column("CREDENTIAL", lambda row: row.credential, wide=True),
        Column("VERSION", lambda row: row.version or "-", wide=True),
        Column("AGE", lambda row: age(row.created_at)),
        Column("MESSAGE", lambda row: row.message, text=True),
    ]


@click.command("list")
@click.argument("cluster", required=False, shell_complete=complete_cluster)
@output_options
@click.pass_obj
def list_pools(invocation: Invocation, cluster: str | None) -> None:
    """List the pools of CLUSTER, or of all clusters."""

    async def work(session: Session) -> list[PoolRow]:
        rows = await pools(session, cluster)
        if not rows and cluster is not None:
            await session.row(targets.cluster(session.organization, cluster), ClusterRow)
        return rows

    rows = run(invocation, work)
    show_list(
        invocation, rows, _pool_columns(cluster), lambda row: row.name if cluster else f"{row.cluster}/{row.name}"
    )
    if not rows:
        where = f"cluster {cluster!r}" if cluster else "any cluster"
        say(
            f"no pools in {where}; make one: lbr cp pool create {cluster or 'CLUSTER'} POOL "
            "--credential NAME --location hel1 --server-type cx23 --min 1 --max 5"
        )


def _ready(machine: Machine) -> str:
    return {True: "yes", False: "no", None: "unknown"}[machine.ready]


NODE_COLUMNS: list[Column[Machine]] = [
    Column("SERVER-ID", lambda machine: machine.server_id or "-"),
    Column("NODE", lambda machine: machine.name),
    Column("PHASE", lambda machine: machine.phase.value, status=True),
    Column("READY", _ready),
    Column("VERSION", lambda machine: machine.version or "-"),
    Column("AGE", lambda machine: age(machine.planned_at)),
    Column("IPV4", lambda machine: machine.ipv4 or "-", wide=True),
    Column("IN-PHASE", lambda machine: age(machine.since), wide=True),
    Column("REASON", lambda machine: machine.reason or "-", wide=True),
    Column("WHY", lambda machine: machine.message or machine.reason, text=True),
]


@click.command()
@cluster_argument
@pool_argument
@output_options
@click.pass_obj
def nodes(invocation: Invocation, cluster: str, pool: str) -> None:
    """List the machines of POOL in CLUSTER, and why each is where it is."""
    view = run(invocation, lambda session: pool_view(session, cluster, pool))
    show_list(invocation, view.machines, NODE_COLUMNS, lambda machine: machine.name)
    if not view.machines:
        say(f"pool {cluster}/{pool} has no machines; see why: lbr cp pool describe {cluster} {pool}")
