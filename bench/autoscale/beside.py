"""The same pods on the same worlds through our autoscaler and through Cluster Autoscaler, one after the other."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.autoscale.burst import Burst, burst
from bench.autoscale.latency import CPU, TYPE
from bench.autoscale.stand import SETTLE_S, pod, sandbox
from bench.autoscale.upstream import VARIABLE, Group, cluster_autoscaler
from sandbox.layout import ClusterKind

OURS, THEIRS = "ours", "Cluster Autoscaler"


@dataclass(frozen=True)
class Scenario:
    """Node groups that are empty, and the pods that come."""

    groups: tuple[Group, ...]
    pods: tuple[Mapping[str, Any], ...]


def _same(count: int) -> Scenario:
    pods = tuple(pod(f"same-{number}", CPU) for number in range(count))
    return Scenario((Group("small", TYPE, 2 * count),), pods)


def _mixed() -> Scenario:
    """Pods for either group, for the small one alone by its label, and for the large one alone by their size."""
    either = tuple(pod(f"either-{number}", "500m", "256Mi") for number in range(20))
    small = tuple(pod(f"small-{number}", CPU, pool="small") for number in range(6))
    large = tuple(pod(f"large-{number}", "5", "8Gi") for number in range(6))
    groups = (Group("small", TYPE, 50), Group("large", "cx43", 50))
    return Scenario(groups, (*either, *small, *large))


SCENARIOS = {
    "1 pod": _same(1),
    "10 pods": _same(10),
    "50 pods": _same(50),
    "3 kinds of pods, 2 pools": _mixed(),
}


async def measure_beside(program: Path | None, kind: ClusterKind) -> dict[str, Any]:
    """Every scenario through both; through ours alone where there is no program, or no cluster that it runs on."""
    if program is None:
        print(f"{VARIABLE} names no program, so ours is measured alone", file=sys.stderr)
    elif kind is ClusterKind.SIMULATED:
        print(
            "Cluster Autoscaler watches kinds that only a real control plane has: ours is measured alone",
            file=sys.stderr,
        )
        program = None
    found: dict[str, Any] = {"cluster": str(kind)}
    for name, scenario in SCENARIOS.items():
        results = {OURS: await _ours(kind, scenario)}
        if program is not None:
            found["version"], results[THEIRS] = await _theirs(program, kind, scenario)
        found[name] = {who: result.rounded() for who, result in results.items()}
        for who, result in results.items():
            print(f"{name:<26} {who:<20} {result}")
    return found


async def _ours(kind: ClusterKind, scenario: Scenario) -> Burst:
    async with sandbox(kind) as stand:
        for group in scenario.groups:
            await stand.pool(group.name, group.server_type, high=group.high)
        await stand.watched(len(scenario.groups))
        return await burst(stand, scenario.pods)


async def _theirs(program: Path, kind: ClusterKind, scenario: Scenario) -> tuple[str, Burst]:
    """Its version, and what came of the pods."""
    groups = list(scenario.groups)
    async with sandbox(kind, served=False) as stand, cluster_autoscaler(program, stand, groups) as version:
        await asyncio.sleep(SETTLE_S)
        return version, await burst(stand, scenario.pods)
