"""How long one decision takes, and how long it takes to read the pods that it rests on. Nothing outside is touched."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec

from activities.cluster_objects import Objects
from activities.reflector import PAGE
from bench.autoscale.made import NOW, cluster, raw_pod, waiting
from core.autoscale.decide import decide
from core.autoscale.pods import read_pod

PODS, KINDS = 5_000, 200
GROWTH = (500, 5_000, 50_000)
TRIALS = 3


class _List(msgspec.Struct):
    """A list as the reflector decodes it: its items stay raw until it is known which of them are new."""

    items: list[msgspec.Raw]


def measure_decisions(*, growth: bool) -> dict[str, float]:
    """Seconds of one decision; with `growth` also how they grow with the number of pods."""
    found = {f"decide: {PODS} pods of {KINDS} kinds, 50 pools, 1000 nodes": _decided(PODS, KINDS)}
    if growth:
        seconds = {count: _decided(count, KINDS) for count in GROWTH}
        found |= {f"decide: {count} pods of {KINDS} kinds": taken for count, taken in seconds.items()}
        for less, more in pairwise(GROWTH):
            found[f"decide: times as long for {more} pods as for {less}"] = seconds[more] / seconds[less]
        found[f"decide: {PODS} pods, no two alike"] = _decided(PODS, PODS, trials=1)
    return found


def measure_decoding() -> dict[str, float]:
    """Seconds to decode a list of pods, and to take it in as the cluster's view does: decoded, read, compared."""
    raw = msgspec.json.encode({"items": [raw_pod(f"p{number}", number % KINDS) for number in range(PODS)]})
    taken: Objects[Any] = Objects(lambda pod: read_pod(pod, {}), lambda changes: None)

    def take_in() -> None:
        items = msgspec.json.decode(raw, type=_List).items
        taken.begin()
        for start in range(0, len(items), PAGE):
            taken.page(items[start : start + PAGE])
        taken.complete()

    def decode() -> None:
        for item in msgspec.json.decode(raw, type=_List).items:
            msgspec.json.decode(item)

    found = {f"decode: {PODS} pods": best(decode)}
    begun = time.perf_counter()
    take_in()
    found[f"take in: {PODS} pods, all new"] = time.perf_counter() - begun
    found[f"take in: {PODS} pods, none new"] = best(take_in)
    found["a pod's size in bytes"] = len(raw) / PODS
    return found


def best(work: Callable[[], object], trials: int = TRIALS) -> float:
    """The least seconds of a few trials: what the machine did besides is no property of the work."""
    taken = []
    for _ in range(trials):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return min(taken)


def _decided(count: int, kinds: int, trials: int = TRIALS) -> float:
    seen = cluster(waiting(count, kinds))
    decision = decide(seen, NOW)
    told = sum(size.count for size in decision.sizes)
    assert told > 0, "pods that wait bring servers"
    assert len({verdict.pod for verdict in decision.pods}) == count, "every pod that waits has its verdict"
    return best(lambda: decide(seen, NOW), trials)
