"""What is refused before anything is sent: each refusal names field, rule and next step, and exits 2."""

from __future__ import annotations

import json

import pytest
from lbr_runner import Lbr

CREATE = "cp pool create prod {pool} --credential hetzner-prod --location hel1 --server-type cx23 {more}"
LONG = "w" * 60


@pytest.mark.parametrize(
    ("pool", "more", "says"),
    [
        ("workers", "--min 5 --max 3", "--min: 5 is above --max 3"),
        ("workers", "--min -1 --max 3", "--min: -1 is negative"),
        ("workers", "--min 0 --max 0", "--max: 0 leaves no room"),
        ("workers", "--min 1 --max 5000", "--max: 5000 is above 1000"),
        ("workers", "--min 1 --max 3 --initial 4", "--initial: 4 is outside --min 1 and --max 3"),
        ("workers", "--min 1 --max 3 --scale-down-after 8d", "--scale-down-after: 8d is above 7d"),
        ("workers", "--min 1 --max 3 --scale-down-threshold 50", "--scale-down-threshold: 50 is not between 0 and 1"),
        ("workers", "--min 1 --max 3 --scale-down-threshold -0.1", "--scale-down-threshold: -0.1 is not between"),
        ("Workers", "--min 1 --max 3", "'Workers' is not a valid name"),
        (LONG, "--min 1 --max 3", "which leaves 52 for the pool's name"),
        ("workers", "--min 1 --max 3 --label workload", "'workload' is neither key=value nor key-"),
        ("workers", "--min 1 --max 3 --label a=1 --label a=2", "a is given twice"),
        ("workers", "--min 1 --max 3 --label a-", "a- removes a label, and a new pool has none"),
        ("workers", "--min 1 --max 3 --label kubernetes.io/role=x", "has a reserved prefix"),
        ("workers", f"--min 1 --max 3 --label a={'v' * 64}", "is not a valid value"),
        ("workers", "--min 1 --max 3 --taint dedicated=batch", "with an effect of NoSchedule"),
        ("workers", "--min 1 --max 3 --taint a:NoSchedule-", "removes a taint, and a new pool has none"),
        ("workers", "--min 1 --max 3 --taint a=1:NoSchedule --taint a=2:NoSchedule", "a:NoSchedule is given twice"),
    ],
)
def test_a_spec_that_breaks_a_rule(lbr: Lbr, pool: str, more: str, says: str) -> None:
    """No such pool is ever sent."""
    result = lbr(*CREATE.format(pool=pool, more=more).split())
    assert result.code == 2
    assert says in result.stderr
    assert "\nhint: " in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("flag", ["--credential", "--location", "--server-type"])
def test_what_is_fixed_cannot_be_updated(lbr: Lbr, flag: str) -> None:
    """Whatever else the command asks for."""
    result = lbr(*f"cp pool update prod workers --max 3 {flag} other".split())
    assert result.code == 2
    assert f"error: {flag}: fixed for a pool's life: make a new pool\n" in result.stderr


def test_the_first_size_cannot_be_updated(lbr: Lbr) -> None:
    """It acted once; `scale` is what is meant."""
    result = lbr(*["cp", "pool", "update", "prod", "workers", "--initial", "3"])
    assert result.code == 2
    assert "lbr cp pool scale" in result.stderr


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("cp pool update prod workers", "nothing to change"),
        ("cp pool update prod workers --max 3 --wait --no-wait", "exclude each other"),
        ("cp pool update prod workers --scale-down-after soon", "'soon' is not a duration"),
        ("cp pool update prod workers --scale-down-threshold half", "'half' is not a valid float"),
        ("cp pool scale prod workers many", "'many' is not a valid integer"),
        ("cp pool delete prod workers --timeout soon", "'soon' is not a duration"),
        ("cp pool delete prod", "Missing argument 'POOL'"),
        ("cp pool list prod -o xml", "'xml' is not one of"),
        ("cp pool events prod workers --watch -o json", "--watch prints a table"),
        ("cp register prod --kubeconfig x --join ssh", "'ssh' is not one of"),
        ("cp pool mend prod workers", "No such command 'mend'"),
        ("completion csh", "'csh' is not one of"),
    ],
)
def test_a_line_that_cannot_be_understood(lbr: Lbr, line: str, says: str) -> None:
    """Usage errors point to the command's help."""
    result = lbr(*line.split())
    assert result.code == 2
    assert says in result.stderr
    assert "--help" in result.stderr


@pytest.mark.parametrize("endpoint", ["10.0.0.1:6443", "https://10.0.0.1:6443/k8s/clusters/c-1", "https://:6443", ""])
def test_an_endpoint_that_no_node_can_reach(lbr: Lbr, endpoint: str) -> None:
    """Before the kubeconfig is read."""
    result = lbr("cp", "register", "prod", "--kubeconfig", "x", "--join", "k3s", "--api-endpoint", endpoint)
    assert result.code == 2
    assert "such as https://10.0.0.1:6443, with no path" in result.stderr


@pytest.mark.parametrize("line", ["cp pool update prod workers --location x", "cp pool nodes prod"])
def test_refusals_are_documents_under_json(lbr: Lbr, line: str) -> None:
    """Also those of lines that could not be parsed to their end."""
    result = lbr(*line.split(), "-o", "json")
    assert set(json.loads(result.stderr)) == {"code", "message", "hint"}
    assert result.code == 2


@pytest.mark.parametrize(
    "text", ["--paused", "--paused=true", "--paused=false", "--paused --max 3", "--max 3 --paused"]
)
def test_every_form_of_paused_is_understood(lbr: Lbr, text: str) -> None:
    """They get as far as the network."""
    result = lbr(*f"cp pool update prod workers {text}".split())
    assert result.code == 1
    assert "Temporal does not answer" in result.stderr


def test_paused_never_takes_the_next_word(lbr: Lbr) -> None:
    """`--paused prod workers` names a cluster and a pool."""
    assert lbr(*["cp", "pool", "update", "--paused", "prod", "workers"]).code == 1


def test_a_server_that_does_not_answer_is_named(lbr: Lbr) -> None:
    """With the file that named it."""
    result = lbr("cp", "list")
    assert result.code == 1
    assert "127.0.0.1:9 (profile 'test' of " in result.stderr


def test_temporals_own_environment_comes_first(lbr: Lbr, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for every client of Temporal."""
    monkeypatch.setenv("TEMPORAL_ADDRESS", "127.0.0.1:7")
    assert "127.0.0.1:7" in lbr("cp", "list").stderr


def test_options_of_place_stand_before_or_after_the_command(lbr: Lbr) -> None:
    """`lbr --profile P cp list` and `lbr cp list --profile P` are the same."""
    assert lbr("--profile", "gone", "cp", "list").code == 2
    assert lbr("cp", "list", "--profile", "gone").code == 2
