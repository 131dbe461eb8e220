"""`lbr cp pool explain`: how an object may be named, and how the answer is printed."""

from __future__ import annotations

import json

import pytest
from lbr_runner import Lbr

from core.autoscale_calls import ExplainObject, Explanation, ObjectKind, Verdict
from starter.commands.pool_explain import named_object, show_explanation
from starter.invocation import Format, Invocation

POD = Verdict(
    kind=ObjectKind.POD,
    name="shop/web-1",
    pool="workers",
    node="prod-workers-b7k2d",
    reason="FitsUpcomingNode",
    meaning="a server on its way to become a node will hold the pod",
    message="prod-workers-b7k2d has room for it",
)
NODE = Verdict(
    kind=ObjectKind.NODE,
    name="prod-batch-x2x4v",
    pool="batch",
    reason="NodeGroupMinSizeReached",
    meaning="the pool has no more servers than its min",
    message="the pool has 1 server, of which it keeps at least 1",
)
REJECTED = Verdict(
    kind=ObjectKind.POD,
    name="default/big",
    reason="NoPoolFits",
    meaning="no pool has nodes that would hold the pod",
    message="workers: cpu 8 of 2",
)
ALL = ExplainObject()


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["pod/web-1"], ObjectKind.POD),
        (["pods/web-1"], ObjectKind.POD),
        (["po/web-1"], ObjectKind.POD),
        (["Pod/web-1"], ObjectKind.POD),
        (["pod", "web-1"], ObjectKind.POD),
        (["node/web-1"], ObjectKind.NODE),
        (["nodes/web-1"], ObjectKind.NODE),
        (["no/web-1"], ObjectKind.NODE),
        (["nodes", "web-1"], ObjectKind.NODE),
    ],
)
def test_an_object_is_named_as_for_kubectl(words: list[str], kind: ObjectKind) -> None:
    """In one word or two, in the singular, the plural and short."""
    assert named_object(words, None) == ExplainObject(kind=kind, name="web-1")


def test_a_namespace_is_the_pods() -> None:
    """`default` where none is given."""
    assert named_object(["po", "web-1"], "shop") == ExplainObject(kind=ObjectKind.POD, name="web-1", namespace="shop")
    assert named_object(["po", "web-1"], None).namespace == "default"
    assert named_object([], None) == ALL


@pytest.mark.parametrize(
    "words",
    ["deployment/web", "web-1", "pod", "pod/", "pod/shop/web-1", "shop/web-1", "pod a b", "pod/a pod/b", "/web-1", ""],
)
def test_what_cannot_be_explained_is_refused(lbr: Lbr, words: str) -> None:
    """Naming what can, before anything is sent."""
    result = lbr("cp", "pool", "explain", "prod", *(words.split() or [""]))
    assert result.code == 2
    assert f"error: object: {words!r} is neither pod/NAME nor node/NAME\n" in result.stderr
    assert "hint: pods and nodes can be explained" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("words", ["node/a -n shop", "-n shop"])
def test_a_namespace_without_a_pod_is_refused(lbr: Lbr, words: str) -> None:
    """It would mean nothing."""
    result = lbr("cp", "pool", "explain", "prod", *words.split())
    assert result.code == 2
    assert "error: --namespace: only a pod has one" in result.stderr


@pytest.mark.parametrize("words", ["", "pod/web-1", "po web-1 -n shop", "-n shop pod/web-1", "node/a -o json"])
def test_every_form_is_understood(lbr: Lbr, words: str) -> None:
    """They get as far as the network."""
    result = lbr("cp", "pool", "explain", "prod", *words.split())
    assert result.code == 1
    assert "Temporal does not answer" in result.stderr


def printed(
    capsys: pytest.CaptureFixture[str], about: ExplainObject, found: Explanation, form: Format = Format.TABLE
) -> tuple[str, str]:
    """What goes to standard output and to standard error."""
    show_explanation(Invocation(format=form), about, found)
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_one_object_is_a_short_text(capsys: pytest.CaptureFixture[str]) -> None:
    """Pool and node are there where there is one."""
    about = named_object(["pod/web-1"], "shop")
    assert printed(capsys, about, Explanation(verdicts=[POD])) == (
        "Object:   pod shop/web-1\n"
        "Pool:     workers\n"
        "Node:     prod-workers-b7k2d\n"
        "Reason:   FitsUpcomingNode\n"
        "Meaning:  a server on its way to become a node will hold the pod\n"
        "Message:  prod-workers-b7k2d has room for it\n",
        "",
    )
    assert printed(capsys, about, Explanation(verdicts=[REJECTED]))[0].splitlines()[:2] == [
        "Object:   pod default/big",
        "Reason:   NoPoolFits",
    ]


def test_all_of_them_are_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Node and meaning only where there is room."""
    found = Explanation(verdicts=[REJECTED, POD, NODE])
    assert printed(capsys, ALL, found)[0].splitlines() == [
        "KIND   NAME               POOL      REASON                    MESSAGE",
        "pod    default/big        -         NoPoolFits                workers: cpu 8 of 2",
        "pod    shop/web-1         workers   FitsUpcomingNode          prod-workers-b7k2d has room for it",
        "node   prod-batch-x2x4v   batch     NodeGroupMinSizeReached   the pool has 1 server, of which it keeps "
        "at least 1",
    ]
    wide = printed(capsys, ALL, found, Format.WIDE)[0]
    assert NODE.meaning in wide
    assert POD.node in wide.splitlines()[2].split()
    assert printed(capsys, ALL, found, Format.NAME)[0].split() == [
        "pod/default/big",
        "pod/shop/web-1",
        "node/prod-batch-x2x4v",
    ]


def test_documents_are_the_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    """A list for all, one for one; nothing else is on standard output."""
    found = Explanation(verdicts=[POD, NODE], left_out=1, note="as seen a minute ago")
    assert [Verdict(**each) for each in json.loads(printed(capsys, ALL, found, Format.JSON)[0])] == [POD, NODE]
    one = Explanation(verdicts=[NODE], note="as seen a minute ago")
    assert Verdict(**json.loads(printed(capsys, named_object(["node/x"], None), one, Format.JSON)[0])) == NODE


def test_what_an_answer_leaves_out_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, like what it rests on, and that there is nothing."""
    found = Explanation(verdicts=[NODE], left_out=1200, note="pools without a known size take no part: batch")
    assert printed(capsys, ALL, found)[1].splitlines() == [
        "left out: 1200 more; name one to have it explained",
        "pools without a known size take no part: batch",
    ]
    assert printed(capsys, ALL, Explanation(verdicts=[])) == ("", "no pod waits, and no pool has a node\n")
    assert printed(capsys, ALL, Explanation(verdicts=[]), Format.JSON)[0] == "[]\n"
