"""`lbr cp pool explain`: why a pod waits, and why a node stays or goes."""

from __future__ import annotations

from collections.abc import Sequence

import click

from core.autoscale_calls import ExplainObject, Explanation, ObjectKind, Verdict
from core.errors import FieldRefused
from starter import targets
from starter.arguments import cluster_argument
from starter.invocation import Invocation, output_options
from starter.output import Column, say, show_list, show_one
from starter.running import run
from starter.session import Session

# kubectl's names of the two, in the plural and short.
_KINDS = {
    **dict.fromkeys(("pod", "pods", "po"), ObjectKind.POD),
    **dict.fromkeys(("node", "nodes", "no"), ObjectKind.NODE),
}

COLUMNS: list[Column[Verdict]] = [
    Column("KIND", lambda verdict: verdict.kind.value),
    Column("NAME", lambda verdict: verdict.name),
    Column("POOL", lambda verdict: verdict.pool or "-"),
    Column("NODE", lambda verdict: verdict.node or "-", wide=True),
    Column("REASON", lambda verdict: verdict.reason),
    Column("MEANING", lambda verdict: verdict.meaning, wide=True),
    Column("MESSAGE", lambda verdict: verdict.message, text=True),
]


@click.command()
@cluster_argument
@click.argument("words", nargs=-1, metavar="[pod/NAME|node/NAME]")
@click.option("--namespace", "-n", metavar="NAME", help="The pod's namespace.  [default: default]")
@output_options
@click.pass_obj
def explain(invocation: Invocation, *, cluster: str, words: tuple[str, ...], namespace: str | None) -> None:
    """Say what the autoscaler would do now about a pod or a node of CLUSTER, and why. Changes nothing.

    Without an object: about each pod that waits and each node of the cluster's pools.

    \b
    lbr cp pool explain prod
    lbr cp pool explain prod pod/web-5d9c7-x2x4v -n shop
    lbr cp pool explain prod node/prod-workers-b7k2d
    """
    about = named_object(words, namespace)

    async def work(session: Session) -> Explanation:
        return await session.update(targets.cluster(session.organization, cluster), "explain", about, Explanation)

    show_explanation(invocation, about, run(invocation, work))


def named_object(words: Sequence[str], namespace: str | None) -> ExplainObject:
    """What `pod/x`, `po x`, `nodes/x` and the like mean; no words mean all. Raises FieldRefused for anything else."""
    about = ExplainObject()
    if words:
        kind, _, name = "/".join(words).partition("/")
        about = ExplainObject(kind=_KINDS.get(kind.lower()), name=name)
        if about.kind is None or not name or "/" in name:
            raise FieldRefused(
                "object",
                f"{' '.join(words)!r} is neither pod/NAME nor node/NAME",
                hint="pods and nodes can be explained, one at a time or, without an object, all; "
                "a pod's namespace is given with -n",
            )
    if namespace is None:
        return about
    if about.kind is not ObjectKind.POD:
        raise FieldRefused("--namespace", "only a pod has one", hint="name a pod, as pod/NAME, or leave it out")
    return about.model_copy(update={"namespace": namespace})


def show_explanation(invocation: Invocation, about: ExplainObject, found: Explanation) -> None:
    """Print one object's verdict as a text, those of all as a table; what an answer leaves out, on standard error."""
    if about.kind is None:
        show_list(invocation, found.verdicts, COLUMNS, _name)
        if not found.verdicts:
            say("no pod waits, and no pool has a node")
    else:
        verdict = found.verdicts[0]  # of an object that does not exist the workflow says so
        show_one(invocation, verdict, _name(verdict), _text(verdict))
    if found.left_out:
        say(f"left out: {found.left_out} more; name one to have it explained")
    if found.note:
        say(found.note)


def _name(verdict: Verdict) -> str:
    return f"{verdict.kind}/{verdict.name}"


def _text(verdict: Verdict) -> str:
    rows = (
        ("Object", f"{verdict.kind} {verdict.name}"),
        ("Pool", verdict.pool),
        ("Node", verdict.node),
        ("Reason", verdict.reason),
        ("Meaning", verdict.meaning),
        ("Message", verdict.message),
    )
    return "\n".join(f"{title + ':':<10}{text}" for title, text in rows if text)
