"""`python -m bench.autoscale [PART ...]`: measure the autoscaler, keep what was found, and judge it by its goals.

Parts are decision, latency, burst, idle and beside; all of them without a name. Each replaces its own figures in
bench/results/autoscale.json. `--check` runs a short version and writes nothing; with it, three times a goal is enough.
Exits with 1 when a goal is missed. With CLUSTER_AUTOSCALER=path, `beside` runs the same pods through that program too.
A real control plane is left out where it is not built.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from bench.autoscale.beside import measure_beside
from bench.autoscale.burst import measure_burst
from bench.autoscale.decision import measure_decisions, measure_decoding
from bench.autoscale.goals import GOALS
from bench.autoscale.idle import HOURS, SCALE, measure_idle
from bench.autoscale.latency import measure_latency
from bench.autoscale.upstream import executable
from bench.results import FOLDER, keep, missed
from core.errors import PoolsError
from sandbox.controlplane import find
from sandbox.layout import ClusterKind

CHECK_TIMES = 3
TRIALS, CHECK_TRIALS = 50, 5
BURST, CHECK_BURST = 50, 10
RESULTS = "autoscale"


def kinds() -> list[ClusterKind]:
    """The kinds of clusters that can be had here."""
    try:
        find()
    except PoolsError as error:
        print(f"the real control plane was left out: {error.message}", file=sys.stderr)
        return [ClusterKind.SIMULATED]
    return [ClusterKind.SIMULATED, ClusterKind.REAL]


def decision() -> dict[str, Any]:
    """Decisions and the reading of pods."""
    return {**measure_decisions(growth=True), **measure_decoding()}


def latency() -> dict[str, Any]:
    """From a pod to the order of a server."""
    return _each(lambda kind: asyncio.run(measure_latency(kind, TRIALS)))


def burst() -> dict[str, Any]:
    """Many pods at once."""
    return _each(lambda kind: asyncio.run(measure_burst(kind, BURST)))


def idle() -> dict[str, Any]:
    """What is written while nothing happens."""
    how = f"watches end {SCALE} times as soon, so that {HOURS} minutes stand for {HOURS} hours"
    return {"how": how, **asyncio.run(measure_idle(ClusterKind.SIMULATED))}


def beside() -> dict[str, Any]:
    """Ours and Cluster Autoscaler, on the real control plane if there is one."""
    return asyncio.run(measure_beside(executable(), kinds()[-1]))


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "decision": decision,
    "latency": latency,
    "burst": burst,
    "idle": idle,
    "beside": beside,
}


def check() -> dict[str, Any]:
    """The short version, on the simulated cluster."""
    kind = ClusterKind.SIMULATED
    return {
        **measure_decisions(growth=False),
        **measure_decoding(),
        **asyncio.run(measure_latency(kind, CHECK_TRIALS)),
        **asyncio.run(measure_burst(kind, CHECK_BURST)),
    }


def _each(measure: Callable[[ClusterKind], dict[str, float]]) -> dict[str, Any]:
    return {name: figure for kind in kinds() for name, figure in measure(kind).items()}


def _rounded(found: dict[str, Any]) -> dict[str, Any]:
    return {name: round(figure, 3) if isinstance(figure, float) else figure for name, figure in found.items()}


def _known() -> dict[str, Any]:
    path = FOLDER / f"{RESULTS}.json"
    known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    known.pop("machine", None)
    return known


def main() -> int:
    """Measure, print, and write or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--check", action="store_true", help="the short version; nothing is written")
    given = parser.parse_args()
    unknown = [name for name in given.parts if name not in PARTS]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}")
    late: list[str] = []
    if given.check:
        late = missed(check(), GOALS, CHECK_TIMES)
    for name in () if given.check else given.parts or PARTS:
        found = _rounded(PARTS[name]())
        keep(RESULTS, {**_known(), name: found})
        late += missed(found, GOALS)
    if late:
        print(f"missed: {', '.join(late)}", file=sys.stderr)
    return 1 if late else 0


if __name__ == "__main__":
    code = 1
    try:
        code = main()
    except PoolsError as error:
        print(f"error: {error.message}\n{error.hint}", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # Temporal's client may abort the interpreter's own exit
