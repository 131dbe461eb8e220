"""Why a pod does not fit a node, in the scheduler's words. Pure."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from sandbox.kubernetes.objects import Obj, dig, labels_of, namespace_of
from sandbox.kubernetes.quantities import milli
from sandbox.kubernetes.scheduling import UNSCHEDULABLE, tolerates, untolerated, wants_node
from sandbox.kubernetes.selectors import selects

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_CORDON = {"key": UNSCHEDULABLE, "effect": "NoSchedule"}
Resources = Counter[str]


@dataclass
class NodeRoom:
    """A node with what is taken of it. Amounts are thousandths; `repelling` pods have anti-affinities.

    An `avoided` one is for pods that find no other.
    """

    node: Obj
    allocatable: Resources
    avoided: bool
    taken: Resources = field(default_factory=Counter)
    ports: set[tuple[str, int]] = field(default_factory=set)
    pods: list[Obj] = field(default_factory=list)
    repelling: list[Obj] = field(default_factory=list)

    @classmethod
    def of(cls, node: Obj) -> "NodeRoom":
        """A node without any pod."""
        amounts = (node.get("status", {}).get("allocatable") or {}).items()
        avoided = any(taint["effect"] == "PreferNoSchedule" for taint in node["spec"].get("taints") or ())
        return cls(node, Counter({name: milli(amount) for name, amount in amounts}), avoided)

    def add(self, pod: Obj, requests: Resources) -> None:
        """Take a pod in."""
        self.taken.update(requests)
        self.ports |= host_ports(pod)
        self.pods.append(pod)
        if dig(pod["spec"], ("affinity", "podAntiAffinity", _REQUIRED)):
            self.repelling.append(pod)

    def load(self) -> float:
        """The share of cpu and memory taken, between 0 and 2."""
        taken, allocatable = self.taken, self.allocatable
        return taken["cpu"] / (allocatable["cpu"] or 1) + taken["memory"] / (allocatable["memory"] or 1)


@dataclass(frozen=True)
class Misfit:
    """Why a node was turned down, and whether evicting other pods from it might have helped."""

    reasons: tuple[str, ...]
    helps_to_preempt: bool = False


def requests_of(pod: Obj) -> Resources:
    """What a pod asks for: its containers together or its largest init container, plus one pod."""
    total: Resources = Counter()
    for container in pod["spec"]["containers"]:
        total.update(_requests(container))
    for container in pod["spec"].get("initContainers") or ():
        for name, amount in _requests(container).items():
            total[name] = max(total[name], amount)
    for name, amount in (pod["spec"].get("overhead") or {}).items():
        total[name] += milli(amount)
    total["pods"] = 1000
    return total


def _requests(container: Obj) -> dict[str, int]:
    requests = (container.get("resources") or {}).get("requests") or {}
    return {name: milli(amount) for name, amount in requests.items()}


def host_ports(pod: Obj) -> set[tuple[str, int]]:
    """The ports of the node that a pod occupies."""
    on_host = pod["spec"].get("hostNetwork")
    ports = set()
    for container in pod["spec"]["containers"]:
        for port in container.get("ports") or ():
            number = port.get("hostPort") or (port.get("containerPort") if on_host else 0)
            if number:
                ports.add((port.get("protocol", "TCP"), number))
    return ports


def misfit_alone(pod: Obj, requests: Resources, room: NodeRoom) -> Misfit | None:
    """Why the pod does not fit by the node itself and the room on it; None when it does."""
    spec, node = pod["spec"], room.node
    tolerations = spec.get("tolerations") or []
    if node["spec"].get("unschedulable") and not any(tolerates(t, _CORDON) for t in tolerations):
        return Misfit(("node(s) were unschedulable",))
    if untolerated(tolerations, node["spec"].get("taints") or (), ("NoSchedule", "NoExecute")):
        return Misfit(("node(s) had untolerated taint(s)",))
    if not wants_node(spec, node):
        return Misfit(("node(s) didn't match Pod's node affinity/selector",))
    if room.ports and host_ports(pod) & room.ports:
        return Misfit(("node(s) didn't have free ports for the requested pod ports",), True)
    lacking = tuple(_lacking(requests, room))
    if not lacking:
        return None
    # What the node could not hold even when empty, no eviction makes room for.
    return Misfit(lacking, all(amount <= room.allocatable[name] for name, amount in requests.items()))


def _lacking(requests: Resources, room: NodeRoom) -> list[str]:
    reasons = []
    for name, amount in requests.items():
        if amount and room.taken[name] + amount > room.allocatable[name]:
            reasons.append("Too many pods" if name == "pods" else f"Insufficient {name}")
    return reasons


class Neighbours:
    """How pods on all nodes restrict where one pod may go: spread, affinity and anti-affinity."""

    def __init__(self, pod: Obj, rooms: list[NodeRoom]) -> None:
        self._pod = pod
        affinity = pod["spec"].get("affinity") or {}
        self._attract = dig(affinity, ("podAffinity", _REQUIRED)) or []
        self._repel = dig(affinity, ("podAntiAffinity", _REQUIRED)) or []
        constraints = pod["spec"].get("topologySpreadConstraints") or []
        self._spread = [c for c in constraints if c.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"]
        self._counts = [self._spread_counts(constraint, rooms) for constraint in self._spread]
        self._attracting = [_domains(term, pod, rooms) for term in self._attract]
        self._repelling = [_domains(term, pod, rooms) for term in self._repel]
        self._repelled_from = _repelled_from(pod, rooms)
        self._is_free = not (self._spread or self._attract or self._repel or self._repelled_from)

    def misfit(self, room: NodeRoom) -> Misfit | None:
        """Why the pod may not join the pods around this node; None when it may."""
        return None if self._is_free else self._found(room)

    def _found(self, room: NodeRoom) -> Misfit | None:
        labels = labels_of(room.node)
        for constraint, counts in zip(self._spread, self._counts, strict=True):
            key = constraint["topologyKey"]
            if key not in labels:
                suffix = " (missing required label)"
                return Misfit((f"node(s) didn't match pod topology spread constraints{suffix}",))
            own = 1 if selects(constraint.get("labelSelector"), self._pod) else 0
            if counts[labels[key]] + own - min(counts.values(), default=0) > constraint["maxSkew"]:
                return Misfit(("node(s) didn't match pod topology spread constraints",), True)
        for term, domains in zip(self._attract, self._attracting, strict=True):
            first = not domains and selects(term.get("labelSelector"), self._pod)
            if not first and labels.get(term["topologyKey"]) not in domains:
                return Misfit(("node(s) didn't match pod affinity rules",))
        for term, domains in zip(self._repel, self._repelling, strict=True):
            if labels.get(term["topologyKey"]) in domains:
                return Misfit(("node(s) didn't match pod anti-affinity rules",), True)
        if any(labels.get(key) == value for key, value in self._repelled_from):
            return Misfit(("node(s) didn't satisfy existing pods anti-affinity rules",), True)
        return None

    def _spread_counts(self, constraint: Obj, rooms: list[NodeRoom]) -> Counter[str]:
        key, selector = constraint["topologyKey"], constraint.get("labelSelector")
        counts: Counter[str] = Counter()
        for room in rooms:
            domain = labels_of(room.node).get(key)
            if domain is None or not wants_node(self._pod["spec"], room.node):
                continue
            counts[domain] += sum(_alike(self._pod, other, selector) for other in room.pods)
        return counts


def _alike(pod: Obj, other: Obj, selector: Obj | None) -> bool:
    return namespace_of(other) == namespace_of(pod) and selects(selector, other)


def _domains(term: Obj, pod: Obj, rooms: list[NodeRoom]) -> set[str | None]:
    """The values of the term's topology key where a pod that it selects is."""
    namespaces = term.get("namespaces") or [namespace_of(pod)]
    found: set[str | None] = set()
    for room in rooms:
        domain = labels_of(room.node).get(term["topologyKey"])
        if domain is not None and domain not in found:
            hit = (p for p in room.pods if namespace_of(p) in namespaces and selects(term.get("labelSelector"), p))
            if next(hit, None):
                found.add(domain)
    return found


def _repelled_from(pod: Obj, rooms: list[NodeRoom]) -> set[tuple[str, str]]:
    """Where pods are that do not want this one near: anti-affinity works both ways."""
    places: dict[str, set[str]] = defaultdict(set)
    for room in rooms:
        for other in room.repelling:
            for term in dig(other["spec"], ("affinity", "podAntiAffinity", _REQUIRED)) or ():
                namespaces = term.get("namespaces") or [namespace_of(other)]
                if namespace_of(pod) in namespaces and selects(term.get("labelSelector"), pod):
                    domain = labels_of(room.node).get(term["topologyKey"])
                    if domain is not None:
                        places[term["topologyKey"]].add(domain)
    return {(key, value) for key, values in places.items() for value in values}


def summary(misfits: list[Misfit], nodes: int) -> str:
    """The message of an Unschedulable condition."""
    if not nodes:
        return "no nodes available to schedule pods"
    counts = Counter(reason for misfit in misfits for reason in misfit.reasons)
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    without = f"0/{nodes} nodes are available"
    preemption = Counter(
        "No preemption victims found for incoming pod"
        if misfit.helps_to_preempt
        else "Preemption is not helpful for scheduling"
        for misfit in misfits
    )
    tried = ", ".join(sorted(f"{count} {reason}" for reason, count in preemption.items()))
    return f"{without}: {reasons}. no new claims to deallocate, preemption: {without}: {tried}."
