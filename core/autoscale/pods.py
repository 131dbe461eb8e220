"""A pod as far as a decision needs it, read from the API's JSON. What cannot be evaluated is listed, not dropped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from core.autoscale.quantities import PODS
from core.autoscale.requests import requests_of
from core.autoscale.selectors import (
    NodeTerm,
    Odd,
    Operator,
    Requirement,
    Selector,
    mapping,
    maps,
    node_terms,
    selector,
    texts,
    time_of,
)

HOSTNAME = "kubernetes.io/hostname"
VOLUME_DRIVER = "csi.hetzner.cloud"
VOLUME_SLOTS = f"attachable-volumes-{VOLUME_DRIVER}"
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
_MIRROR = "kubernetes.io/config.mirror"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

Pairs = tuple[tuple[str, str], ...]
Port = tuple[str, str, int]  # host address, protocol, number


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration. An empty key with Exists tolerates everything, an empty effect all effects."""

    key: str
    operator: str
    value: str
    effect: str

    def tolerates(self, key: str, value: str, effect: str) -> bool:
        """Whether it covers a taint."""
        if self.effect not in ("", effect) or self.key not in ("", key):
            return False
        return self.operator == "Exists" or (self.key == key and self.value == value)


@dataclass(frozen=True, slots=True)
class Spread:
    """A hostname spread that must hold: no node may have `skew` more of the selected pods than the least laden."""

    skew: int
    selector: Selector | None
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False


@dataclass(frozen=True, slots=True)
class Volume:
    """A claim's volume: where it can be attached and by which driver. `terms` are the node affinity of the PV.

    A claim whose volume is made where its first pod goes has the terms of its class, mostly none.
    """

    terms: tuple[NodeTerm, ...] = ()
    driver: str = ""


@dataclass(frozen=True, slots=True)
class Controller:
    """What would make a pod again."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod. `apart` are the pods that no node may share with it; `repels` those that keep off by a wider topology.

    `affinity` None is no wish at all, while an empty one is met by no node.
    """

    namespace: str
    name: str
    labels: Pairs = ()
    priority: int = 0
    node: str = ""
    nominated: str = ""
    created: datetime | None = None
    controller: Controller | None = None
    requests: tuple[tuple[str, int], ...] = ((PODS, 1),)
    node_selector: Pairs = ()
    affinity: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    volumes: tuple[tuple[NodeTerm, ...], ...] = ()
    ports: tuple[Port, ...] = ()
    spreads: tuple[Spread, ...] = ()
    apart: tuple[Selector, ...] = ()
    repels: tuple[Selector, ...] = ()
    unsupported: tuple[str, ...] = ()
    unschedulable: bool = False
    finished: bool = False
    mirror: bool = False
    deleted: datetime | None = None
    safe_to_evict: str = ""
    local_volumes: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """namespace/name."""
        return f"{self.namespace}/{self.name}"

    @property
    def daemon(self) -> bool:
        """Whether a DaemonSet owns it: it comes and goes with its node."""
        return self.controller is not None and self.controller.kind == "DaemonSet"


def read_pod(raw: Mapping[str, Any], volumes: Mapping[str, Volume]) -> Pod:
    """Read a Pod object. `volumes` has the volume of each claim, by namespace/claim; a claim not in it is unbound."""
    meta, spec, status = mapping(raw.get("metadata")), mapping(raw.get("spec")), mapping(raw.get("status"))
    namespace, name = str(meta.get("namespace") or ""), str(meta.get("name") or "")
    labels = {str(key): str(value) for key, value in mapping(meta.get("labels")).items()}
    notes = mapping(meta.get("annotations"))
    rules = _Rules(namespace, labels)
    rules.read(spec)
    attached, slots = _attached(namespace, name, spec, volumes, rules.unsupported)
    requests, odd = requests_of(spec)
    rules.unsupported += [f"an amount of {resource} that is no quantity" for resource in odd]
    if slots:
        requests[VOLUME_SLOTS] = slots
    return Pod(
        namespace=namespace,
        name=name,
        labels=tuple(sorted(labels.items())),
        priority=_number(spec.get("priority")),
        node=str(spec.get("nodeName") or ""),
        nominated=str(status.get("nominatedNodeName") or ""),
        created=time_of(meta.get("creationTimestamp")),
        controller=_controller(meta),
        requests=tuple(sorted((resource, amount) for resource, amount in requests.items() if amount)),
        node_selector=tuple(sorted((str(k), str(v)) for k, v in mapping(spec.get("nodeSelector")).items())),
        affinity=rules.affinity,
        tolerations=rules.tolerations,
        volumes=attached,
        ports=_ports(spec),
        spreads=tuple(sorted(rules.spreads, key=repr)),
        apart=tuple(sorted(rules.apart, key=repr)),
        repels=tuple(sorted(rules.repels, key=repr)),
        unsupported=tuple(sorted(set(rules.unsupported))),
        unschedulable=_unschedulable(status),
        finished=status.get("phase") in ("Succeeded", "Failed"),
        mirror=_MIRROR in notes,
        deleted=time_of(meta.get("deletionTimestamp")),
        safe_to_evict=str(notes.get(SAFE_TO_EVICT) or ""),
        local_volumes=_local_volumes(spec, str(notes.get(SAFE_VOLUMES) or "")),
    )


def read_daemon(raw: Mapping[str, Any]) -> Pod:
    """The pod that a DaemonSet object would make. Its controller tolerates what it tolerates for every pod of it."""
    meta, template = mapping(raw.get("metadata")), mapping(mapping(raw.get("spec")).get("template"))
    owner = {"kind": "DaemonSet", "name": meta.get("name"), "controller": True}
    spec = dict(mapping(template.get("spec")))
    spec["tolerations"] = [*maps(spec.get("tolerations")), *_DAEMON_TOLERATIONS]
    made = {**mapping(template.get("metadata")), "namespace": meta.get("namespace"), "name": meta.get("name")}
    return read_pod({"metadata": {**made, "ownerReferences": [owner]}, "spec": spec}, {})


# Source: the DaemonSet page of the Kubernetes documentation, "Taints and tolerations".
_DAEMON_TOLERATIONS = [
    {"key": f"node.kubernetes.io/{condition}", "operator": "Exists"}
    for condition in ("not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
]


@dataclass
class _Rules:
    """The scheduling rules of a pod's spec, and what of them cannot be evaluated."""

    namespace: str
    labels: dict[str, str]
    affinity: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    spreads: list[Spread] = field(default_factory=list)
    apart: list[Selector] = field(default_factory=list)
    repels: list[Selector] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)

    def read(self, spec: Mapping[str, Any]) -> None:
        affinity = mapping(spec.get("affinity"))
        self.tolerations = tuple(sorted((_toleration(t) for t in maps(spec.get("tolerations"))), key=repr))
        required = mapping(mapping(affinity.get("nodeAffinity")).get(_REQUIRED))
        if required:
            self._try(lambda: self._node_affinity(required))
        if maps(mapping(affinity.get("podAffinity")).get(_REQUIRED)):
            self.unsupported.append("a required affinity to other pods")
        for term in maps(mapping(affinity.get("podAntiAffinity")).get(_REQUIRED)):
            self._try(lambda term=term: self._anti_affinity(term))
        for constraint in maps(spec.get("topologySpreadConstraints")):
            if constraint.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule":
                self._try(lambda constraint=constraint: self._spread(constraint))
        if spec.get("resourceClaims"):
            self.unsupported.append("a claim of a dynamic resource")
        if (spec.get("schedulerName") or "default-scheduler") != "default-scheduler":
            self.unsupported.append("a scheduler of its own")

    def _try(self, read: Any) -> None:
        try:
            read()
        except Odd as odd:
            self.unsupported.append(str(odd))

    def _node_affinity(self, required: Mapping[str, Any]) -> None:
        self.affinity = node_terms(required.get("nodeSelectorTerms"))

    def _anti_affinity(self, term: Mapping[str, Any]) -> None:
        if term.get("namespaceSelector") is not None:
            raise Odd("an anti-affinity that selects namespaces by label")
        namespaces = tuple(texts(term.get("namespaces"))) or (self.namespace,)
        chosen = selector(namespaces, term.get("labelSelector"))
        if chosen is None:
            return
        if term.get("topologyKey") == HOSTNAME:
            self.apart.append(chosen)
        else:
            self.repels.append(chosen)
            self.unsupported.append(f"a required anti-affinity by {term.get('topologyKey')}")

    def _spread(self, constraint: Mapping[str, Any]) -> None:
        if constraint.get("topologyKey") != HOSTNAME:
            raise Odd(f"a required topology spread by {constraint.get('topologyKey')}")
        chosen = selector((self.namespace,), constraint.get("labelSelector"))
        if chosen:
            keys = [key for key in texts(constraint.get("matchLabelKeys")) if key in self.labels]
            own = [Requirement(key, Operator.IN, (self.labels[key],)) for key in keys]
            found = {*chosen.requirements, *own}
            chosen = Selector(chosen.namespaces, tuple(sorted(found, key=str)))
        self.spreads.append(
            Spread(
                skew=max(1, _number(constraint.get("maxSkew"))),
                selector=chosen,
                min_domains=max(1, _number(constraint.get("minDomains"))),
                honor_affinity=constraint.get("nodeAffinityPolicy", "Honor") == "Honor",
                honor_taints=constraint.get("nodeTaintsPolicy", "Ignore") == "Honor",
            )
        )


def _attached(
    namespace: str, pod: str, spec: Mapping[str, Any], volumes: Mapping[str, Volume], unsupported: list[str]
) -> tuple[tuple[tuple[NodeTerm, ...], ...], int]:
    """Where the volumes of a pod can be attached, and how many slots of a server they take."""
    terms: set[tuple[NodeTerm, ...]] = set()
    slots = 0
    for claim in sorted(set(_claims(pod, spec))):
        volume = volumes.get(f"{namespace}/{claim}")
        if volume is None:
            unsupported.append(f"the claim {claim}, which has no volume yet")
            continue
        slots += volume.driver == VOLUME_DRIVER
        if volume.terms:
            terms.add(volume.terms)
    return tuple(sorted(terms, key=repr)), slots


def _claims(pod: str, spec: Mapping[str, Any]) -> Iterable[str]:
    for volume in maps(spec.get("volumes")):
        if "persistentVolumeClaim" in volume:
            yield str(mapping(volume["persistentVolumeClaim"]).get("claimName"))
        elif "ephemeral" in volume:
            yield f"{pod}-{volume.get('name')}"


def _local_volumes(spec: Mapping[str, Any], safe: str) -> tuple[str, ...]:
    """Volumes whose data stays on the node; an emptyDir in memory is lost at every restart anyway."""
    exempt = {name.strip() for name in safe.split(",")}
    names = [
        str(volume.get("name"))
        for volume in maps(spec.get("volumes"))
        if "hostPath" in volume or ("emptyDir" in volume and mapping(volume["emptyDir"]).get("medium") != "Memory")
    ]
    return tuple(sorted(name for name in names if name not in exempt))


def _ports(spec: Mapping[str, Any]) -> tuple[Port, ...]:
    ports: set[Port] = set()
    for container in (*maps(spec.get("containers")), *maps(spec.get("initContainers"))):
        for port in maps(container.get("ports")):
            number = _number(port.get("hostPort") or (port.get("containerPort") if spec.get("hostNetwork") else 0))
            if number:
                ports.add((str(port.get("hostIP") or "0.0.0.0"), str(port.get("protocol") or "TCP"), number))
    return tuple(sorted(ports))


def _toleration(raw: Mapping[str, Any]) -> Toleration:
    texts = (str(raw.get(part) or "") for part in ("key", "operator", "value", "effect"))
    key, operator, value, effect = texts
    return Toleration(key, operator or "Equal", value, effect)


def _controller(meta: Mapping[str, Any]) -> Controller | None:
    for owner in maps(meta.get("ownerReferences")):
        if owner.get("controller"):
            return Controller(str(owner.get("kind")), str(owner.get("name")))
    return None


def _unschedulable(status: Mapping[str, Any]) -> bool:
    return any(
        condition.get("type") == "PodScheduled"
        and condition.get("status") == "False"
        and condition.get("reason") == "Unschedulable"
        for condition in maps(status.get("conditions"))
    )


def _number(raw: Any) -> int:
    return raw if isinstance(raw, int) else 0
