"""What the figures may be at most, on two cores. A figure that is not here is told and not judged."""

from __future__ import annotations

from bench.autoscale.decision import KINDS, PODS
from bench.results import Goal
from sandbox.layout import ClusterKind

# Ten times the pods in ten times the time is linear growth; the rest is for what the machine did besides.
LINEAR = Goal(12.0, "")
# A node of a burst: one request to create it, and its share of looks at its action, its state and of listings.
REQUESTS = Goal(3.0, "")
EVENTS = Goal(20.0, "")
NONE = Goal(0.0, "")


def _of(kind: ClusterKind) -> dict[str, Goal]:
    found = {
        f"pod to order, median, {kind} cluster": Goal(0.4),
        f"pod to order, 95th percentile, {kind} cluster": Goal(1.0),
    }
    for count in (10, 50):
        what = f"burst of {count}, {kind} cluster"
        found |= {
            f"{what}: requests to the cloud for each node": REQUESTS,
            f"{what}: servers bought beyond those needed": NONE,
            f"{what}: nodes missing": NONE,
        }
    return found


GOALS: dict[str, Goal] = {
    f"decide: {PODS} pods of {KINDS} kinds, 50 pools, 1000 nodes": Goal(1.0),
    "decide: times as long for 5000 pods as for 500": LINEAR,
    "decide: times as long for 50000 pods as for 5000": LINEAR,
    f"decode: {PODS} pods": Goal(0.2),
    "idle pool of 3 nodes: events an hour": EVENTS,
    "idle pool of none: events an hour": EVENTS,
    **_of(ClusterKind.SIMULATED),
    **_of(ClusterKind.REAL),
}
