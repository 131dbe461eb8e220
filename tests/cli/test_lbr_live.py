"""What transcripts cannot show: many commands at once, Ctrl-C, completion with live names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sandbox_stack import Stack, start, stop
from test_lbr_completion import completions

from sandbox.layout import Layout

LBR = str(Path(sys.executable).with_name("lbr"))
POOL = ("--credential", "live", "--location", "hel1", "--server-type", "cx23", "--min", "0", "--max", "5")


@pytest.fixture(scope="module")
def live_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A sandbox of its own: the transcripts' must hold nothing that they do not speak of."""
    built = start(tmp_path_factory.mktemp("live"))
    yield built
    stop(built)


@pytest.fixture(scope="module")
def environment(live_stack: Stack) -> Iterator[dict[str, str]]:
    """The environment that leads to the sandbox."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LBR_CONFIG", str(live_stack.profile))
        yield dict(os.environ)


def lbr(environment: dict[str, str], *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run one command in a process of its own."""
    return subprocess.run(
        [LBR, *arguments], input=stdin, capture_output=True, text=True, env=environment, check=False, timeout=60
    )


@pytest.fixture(scope="module")
def pool(live_stack: Stack, environment: dict[str, str]) -> str:
    """A pool of no machines."""
    lbr(environment, "cloud-credential", "create", "live", "--token", "-", stdin=live_stack.tokens["READ_WRITE"])
    made = lbr(environment, "cp", "pool", "create", "prod", "live", *POOL, "--wait")
    assert made.returncode == 0, made.stderr
    return "live"


def test_more_commands_at_once_than_temporal_takes(environment: dict[str, str], pool: str) -> None:
    """A workflow takes ten updates at a time; the others are sent again, and each acts once."""

    def label(number: int) -> int:
        return lbr(environment, "cp", "pool", "update", "prod", pool, "--label", f"key{number}=v").returncode

    with ThreadPoolExecutor(14) as threads:
        assert set(threads.map(label, range(14))) == {0}
    described = json.loads(lbr(environment, "cp", "pool", "describe", "prod", pool, "-o", "json").stdout)
    assert set(described["spec"]["labels"]) == {f"key{number}" for number in range(14)}


def test_an_interrupted_wait_says_that_the_work_goes_on(
    live_stack: Stack, environment: dict[str, str], pool: str
) -> None:
    """Exit code 130, and how to follow it. The machines never join, so that the wait cannot end before."""
    handles = f"http://127.0.0.1:{Layout(live_stack.folder).ports().hollow}/_sandbox/hollow/node-faults"
    body = json.dumps({"fault": "never-joins", "count": 2}).encode()
    with urllib.request.urlopen(urllib.request.Request(handles, body), timeout=10) as answer:
        assert answer.status == 201
    command = [LBR, "cp", "pool", "scale", "prod", pool, "2", "--wait"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    assert process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert "interrupted: what was asked for goes on" in err
    assert f"lbr cp pool events prod {pool} --watch" in err
    described = json.loads(lbr(environment, "cp", "pool", "describe", "prod", pool, "-o", "json").stdout)
    assert described["row"]["target"] == 2


def test_a_wait_that_is_too_short_says_that_the_work_goes_on(environment: dict[str, str], pool: str) -> None:
    """Exit code 6."""
    run = lbr(environment, "cp", "pool", "scale", "prod", pool, "4", "--wait", "--timeout", "0s", "-o", "json")
    assert run.returncode == 6
    assert '"code": "WaitTimedOut"' in run.stderr


@pytest.mark.usefixtures("environment")
def test_live_names_are_completed(pool: str) -> None:
    """Pools, clusters and credentials; never a secret."""
    assert pool in completions("lbr cp pool describe prod ")
    assert completions("lbr cp pool list p") == ["prod"]
    assert "live" in completions("lbr cp pool create prod x --credential ")


def test_watched_events_end_with_the_pool(environment: dict[str, str], pool: str) -> None:
    """The watch prints what happens, and ends by itself when the pool is gone."""
    command = [LBR, "cp", "pool", "events", "prod", pool, "--watch"]
    watch = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert watch.stdout is not None
    assert watch.stdout.readline().startswith("LAST-SEEN")
    assert lbr(environment, "cp", "pool", "delete", "prod", pool, "--wait").returncode == 0
    out, err = watch.communicate(timeout=30)
    assert watch.returncode == 0
    assert "PoolDeleting" in out
    assert f"pool prod/{pool} is gone" in err
