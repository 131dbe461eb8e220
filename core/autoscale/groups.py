"""Pods that no decision can tell apart are decided together.

Upstream groups by controller and equal spec. Here only what decides is kept of a pod, so equal facts are enough,
and of its labels only those that some selector looks at: the index of a StatefulSet's pod splits no group.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from core.autoscale.pods import Pod
from core.autoscale.selectors import Selector

Signature = tuple[object, ...]


class Kinds:
    """Numbers for what selectors can see of a pod: its namespace and the labels that any selector looks at."""

    def __init__(self, pods: Iterable[Pod]) -> None:
        found: set[Selector] = set()
        self._repelling: set[Selector] = set()
        for pod in pods:
            found.update(pod.apart, pod.repels, (s.selector for s in pod.spreads if s.selector))
            self._repelling.update(pod.repels)
        self._keys = frozenset(r.key for selector in found for r in selector.requirements)
        self._numbers: dict[tuple[str, tuple[tuple[str, str], ...]], int] = {}
        self._seen: dict[Selector, tuple[int, set[int]]] = {}

    def of(self, pod: Pod) -> int:
        """The number of a pod's kind."""
        labels = tuple(pair for pair in pod.labels if pair[0] in self._keys) if self._keys else ()
        return self._numbers.setdefault((pod.namespace, labels), len(self._numbers))

    def selected(self, selector: Selector | None) -> set[int]:
        """The kinds that a selector means, of those numbered so far."""
        if selector is None:
            return set()
        known, kinds = self._seen.get(selector, (0, set()))
        if known < len(self._numbers):
            for (namespace, labels), number in list(self._numbers.items())[known:]:
                if selector.selects(namespace, dict(labels)):
                    kinds.add(number)
            self._seen[selector] = (len(self._numbers), kinds)
        return kinds

    def repelled(self, kind: int) -> bool:
        """Whether some pod keeps this kind off by a topology other than the hostname."""
        return any(kind in self.selected(selector) for selector in self._repelling)


@dataclass(frozen=True)
class Group:
    """Equal pods, in the order of their names."""

    pods: tuple[Pod, ...]
    kind: int

    @property
    def pod(self) -> Pod:
        """The one that stands for all."""
        return self.pods[0]

    @cached_property
    def signature(self) -> Signature:
        """What decides, besides room, which nodes it may use."""
        return node_signature(self.pod)


def node_signature(pod: Pod) -> Signature:
    """What decides which nodes a pod may use by what those are, whatever they hold."""
    return (pod.node_selector, pod.affinity, pod.tolerations, pod.volumes)


def grouped(pods: Iterable[Pod], kinds: Kinds) -> list[Group]:
    """The groups of `pods`, in the order of their first names."""
    found: dict[Signature, list[Pod]] = {}
    for pod in sorted(pods, key=lambda pod: (pod.namespace, pod.name)):
        found.setdefault(_identity(pod, kinds), []).append(pod)
    return [Group(tuple(members), kinds.of(members[0])) for members in found.values()]


def _identity(pod: Pod, kinds: Kinds) -> Signature:
    rules = (pod.ports, pod.spreads, pod.apart, pod.repels, pod.unsupported)
    return (kinds.of(pod), pod.priority, pod.requests, node_signature(pod), rules)
