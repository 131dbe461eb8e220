"""Names for shell completion, asked of the running system; an error completes to nothing. Never secrets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from core.errors import PoolsError
from starter.invocation import Invocation

if TYPE_CHECKING:
    from starter.session import Session

Names = Callable[["Session", click.Context], Awaitable[list[str]]]
Completer = Callable[[click.Context, click.Parameter, str], list[str]]


def _completer(ask: Names) -> Completer:
    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        from starter.running import run  # only a completion that asks the server pays for the client

        invocation = context.find_object(Invocation) or Invocation()
        try:
            names = run(invocation, lambda session: ask(session, context), gate=False)
        except (PoolsError, OSError):
            return []
        return sorted(name for name in names if name.startswith(incomplete))

    return complete


async def _clusters(session: Session, context: click.Context) -> list[str]:
    from starter.reads import clusters

    return [row.name for row in await clusters(session)]


async def _pools(session: Session, context: click.Context) -> list[str]:
    from starter.reads import pools

    return [row.name for row in await pools(session, context.params.get("cluster"))]


async def _credentials(session: Session, context: click.Context) -> list[str]:
    from starter.reads import credentials

    return [row.name for row in await credentials(session)]


complete_cluster = _completer(_clusters)
complete_pool = _completer(_pools)
complete_credential = _completer(_credentials)
