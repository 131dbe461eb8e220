"""What holds a drain: which pods, why, and when the same budget may be asked again."""

from __future__ import annotations

from dataclasses import dataclass

from core.machine_calls import Hold

REPORTED = 20  # holds that a result carries, in the order of their pods


@dataclass(frozen=True)
class Pauses:
    """Seconds before a budget is asked again: the first pause, and the longest that doubling leads to."""

    first: float = 5.0
    longest: float = 30.0


class Holds:
    """The holds of one drain. A pause is the budget's and not the pod's: its other pods would be refused as well.

    `known` are the holds that the caller knows of; times are seconds of any one clock.
    """

    def __init__(self, known: list[Hold], pauses: Pauses) -> None:
        self._known = known
        self._pauses = pauses
        self._held = {hold.pod: hold for hold in known}
        self._until: dict[str, float] = {}
        self._pause: dict[str, float] = {}

    @property
    def pods(self) -> set[str]:
        """Which pods are held."""
        return set(self._held)

    @property
    def reported(self) -> list[Hold]:
        """The holds as a result carries them."""
        return [self._held[pod] for pod in sorted(self._held)][:REPORTED]

    @property
    def news(self) -> bool:
        """Whether other pods are held than known, or by another budget. Counts in a budget's message are no news."""
        return {_identity(hold) for hold in self.reported} != {_identity(hold) for hold in self._known}

    def hold(self, hold: Hold) -> None:
        """Note why a pod stays."""
        self._held[hold.pod] = hold

    def lift(self, pod: str) -> None:
        """The pod goes."""
        self._held.pop(pod, None)

    def keep(self, pods: set[str]) -> None:
        """Forget pods that are no longer there."""
        self._held = {pod: hold for pod, hold in self._held.items() if pod in pods}

    def wait(self, pod: str, now: float, *, asked_s: float | None = None, final: bool = False) -> None:
        """Let a refused pod, and its budget's other pods, wait.

        `asked_s` is how long the API asked to wait; `final` that asking again soon is pointless.
        """
        key = self._key(pod)
        if now < self._until.get(key, 0.0):
            return  # refused together with another pod of the budget: one pause for both
        grown = min(self._pause.get(key, self._pauses.first / 2) * 2, self._pauses.longest)
        self._pause[key] = self._pauses.longest if final else grown
        self._until[key] = now + (asked_s or self._pause[key])

    def due(self, pod: str, now: float) -> bool:
        """Whether the pod may be asked for."""
        return now >= self._until.get(self._key(pod), 0.0)

    def _key(self, pod: str) -> str:
        hold = self._held.get(pod)
        if hold is None or not hold.budget:
            return pod
        return f"{pod.partition('/')[0]} budget {hold.budget}"


def _identity(hold: Hold) -> tuple[str, str]:
    return hold.pod, hold.budget or hold.message
