"""What a pod takes of a node's resources.

Source: the scheduler's rule: the larger of what runs together and of each init container beside the sidecars
started before it, or the pod-level request where there is one, plus the overhead of its runtime class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from core.autoscale.quantities import PODS, amounts
from core.autoscale.selectors import mapping, maps


def requests_of(spec: Mapping[str, Any]) -> tuple[dict[str, int], list[str]]:
    """The amount of each resource that a pod spec takes, and the resources whose amount cannot be read."""
    odd: list[str] = []

    def read(owner: Mapping[str, Any]) -> dict[str, int]:
        found, unread = amounts(mapping(owner.get("resources")).get("requests"))
        odd.extend(unread)
        return found

    sidecars: Counter[str] = Counter()
    starting: Counter[str] = Counter()
    for container in maps(spec.get("initContainers")):
        if container.get("restartPolicy") == "Always":
            sidecars.update(read(container))
            starting |= sidecars
        else:
            starting |= sidecars + Counter(read(container))
    running = Counter(sidecars)
    for container in maps(spec.get("containers")):
        running.update(read(container))
    total = dict(running | starting)
    total.update(read(spec))
    overhead, unread = amounts(spec.get("overhead"))
    for name, amount in overhead.items():
        total[name] = total.get(name, 0) + amount
    total[PODS] = 1
    return total, sorted({*odd, *unread})
