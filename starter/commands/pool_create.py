"""`lbr cp pool create`."""

from __future__ import annotations

from datetime import timedelta

import click

from core.spec import PoolSpec, check_spec
from starter import targets
from starter.arguments import (
    PausedCommand,
    cluster_argument,
    label_options,
    paused_option,
    pool_argument,
    scale_down_options,
    wait_options,
)
from starter.invocation import Invocation, output_options
from starter.labelling import labels_to_set, taints_to_set
from starter.live_names import complete_credential
from starter.output import say, show_one
from starter.profile import organization_of
from starter.running import profile_of, run
from starter.session import Session
from starter.waiting import following, until_ready
from workflows.messages import CreateOutcome, CreateResult


@click.command(cls=PausedCommand)
@cluster_argument
@pool_argument
@click.option(
    "--credential",
    required=True,
    metavar="NAME",
    shell_complete=complete_credential,
    help="The cloud credential to make servers with.",
)
@click.option("--location", required=True, metavar="NAME", help="Where the servers live, such as hel1.")
@click.option("--server-type", required=True, metavar="NAME", help="The kind of server, such as cx23.")
@click.option("--min", "floor", required=True, type=int, help="The fewest nodes; 0 lets the pool go to zero.")
@click.option("--max", "ceiling", required=True, type=int, help="The most nodes.")
@click.option("--initial", type=int, help="The size to start with, once.  [default: --min]")
@scale_down_options(defaults=True)
@label_options
@paused_option
@wait_options
@output_options
@click.pass_obj
def create(
    invocation: Invocation,
    *,
    cluster: str,
    pool: str,
    credential: str,
    location: str,
    server_type: str,
    floor: int,
    ceiling: int,
    initial: int | None,
    scale_down_after: timedelta,
    scale_down_threshold: float,
    labels: tuple[str, ...],
    taints: tuple[str, ...],
    paused: bool | None,
    wait: bool,
    timeout: timedelta,
) -> None:
    """Make POOL in CLUSTER. The same command again changes nothing; another spec is refused with exit code 5.

    \b
    lbr cp pool create prod workers --credential hetzner-prod \\
        --location hel1 --server-type cx23 --min 1 --max 5
    """
    spec = PoolSpec(
        organization=organization_of(profile_of(invocation)),
        cluster=cluster,
        name=pool,
        credential=credential,
        location=location,
        server_type=server_type,
        min=floor,
        max=ceiling,
        initial=initial,
        scale_down_after=scale_down_after,
        scale_down_threshold=scale_down_threshold,
        labels=labels_to_set(labels),
        taints=taints_to_set(taints),
        paused=bool(paused),
    )
    check_spec(spec)

    async def work(session: Session) -> CreateResult:
        invocation.follow = following(cluster, pool)
        result = await session.update(targets.organization(session.organization), "create_pool", spec, CreateResult)
        if wait:
            await until_ready(session, cluster, pool, timeout)
        return result

    result = run(invocation, work)
    show_one(invocation, result, pool, f"pool {cluster}/{pool} {result.outcome.value}")
    if result.outcome is CreateOutcome.CREATED and not wait:
        say(f"watch it come up: {following(cluster, pool)}")
