"""The nodes of a cluster with what is on them, on which a decision moves pods around in thought."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from core.autoscale.cluster import Cluster, Pool
from core.autoscale.fit import node_misfit
from core.autoscale.groups import Group, Kinds, Signature, node_signature
from core.autoscale.nodes import Node
from core.autoscale.placing import Domains, Placing, is_domain
from core.autoscale.pods import Pod, Spread
from core.autoscale.rooms import Room


class Board:
    """Rooms for every node and for every server that is to become one, with the pods that count in them.

    Pods below the priority cutoff do not count: the scheduler preempts them for any other.
    """

    def __init__(self, cluster: Cluster, now: datetime) -> None:
        self.kinds = Kinds([*cluster.pods, *cluster.daemons])
        self._cutoff = cluster.options.priority_cutoff
        self._allowed: dict[Signature, list[Room]] = {}
        self._counted: dict[Signature, list[Room]] = {}
        leaving = {name for pool in cluster.pools for name in pool.leaving}
        nodes = sorted(cluster.nodes, key=lambda node: node.name)
        self.by_node = {node.name: Room(node, closed=not node.ready or node.name in leaving) for node in nodes}
        self._order = list(self.by_node.values())
        self.on_node: dict[str, list[Pod]] = {name: [] for name in self.by_node}
        # How many pods selectors find depends on the kinds known by then, so all get their number first.
        for pod in (*cluster.pods, *cluster.daemons):
            self.kinds.of(pod)
        for pod in sorted(cluster.pods, key=lambda pod: (pod.namespace, pod.name)):
            self._seat(pod)
        self._daemons = sorted(cluster.daemons, key=lambda pod: (pod.namespace, pod.name))
        pools = sorted(cluster.pools, key=lambda pool: pool.spec.name)
        self.upcoming = {pool.spec.name: self._upcoming(pool, now) for pool in pools}
        self.rooms = [*self.by_node.values(), *(room for rooms in self.upcoming.values() for room in rooms)]

    def counts(self, pod: Pod) -> bool:
        """Whether a pod takes room."""
        return not pod.finished and pod.priority >= self._cutoff

    def empty(self, template: Node) -> Room:
        """A new node of a template: its DaemonSets' pods come first, whatever they leave."""
        room = Room(template)
        for daemon in self._daemons:
            if node_misfit(daemon, template) is None:
                room.take(daemon, self.kinds.of(daemon))
        return room

    def prefer(self, order: Iterable[Room]) -> None:
        """Try nodes in this order from now on."""
        self._order = list(order)
        self._allowed.clear()

    def allowed(self, pod: Pod) -> list[Room]:
        """The nodes that the pod may use, if they have space."""
        signature = node_signature(pod)
        if signature not in self._allowed:
            rooms = (room for room in self._order if not room.closed)
            self._allowed[signature] = [room for room in rooms if node_misfit(pod, room.node) is None]
        return self._allowed[signature]

    def placing(self, group: Group) -> Placing:
        """A placing of the group's pods, with the domains of their spreads over all nodes as they are now."""
        return Placing(group.pod, group.kind, self.kinds, self.domains(group))

    def domains(self, group: Group) -> list[Domains]:
        """The domains of the group's spreads over all nodes."""
        found = []
        for spread in group.pod.spreads:
            domains = Domains(spread, group.kind, self.kinds)
            domains.open(self._eligible(spread, group.pod))
            found.append(domains)
        return found

    def _eligible(self, spread: Spread, pod: Pod) -> list[Room]:
        rules = (spread.honor_affinity, spread.honor_taints)
        key = (len(self.rooms), *rules, pod.node_selector, pod.affinity, pod.tolerations)
        if key not in self._counted:
            self._counted[key] = [room for room in self.rooms if is_domain(spread, pod, room)]
        return self._counted[key]

    def _seat(self, pod: Pod) -> None:
        """Pods hold the node that they are bound to, or that the scheduler is making room on for them."""
        room = self.by_node.get(pod.node or pod.nominated)
        if room is not None and self.counts(pod):
            room.take(pod, self.kinds.of(pod))
            self.on_node[room.name].append(pod)

    def _upcoming(self, pool: Pool, now: datetime) -> list[Room]:
        empty = self.empty(pool.template)
        return [empty.copy(f"{pool.spec.name} (upcoming {n})") for n in range(1, pool.upcoming(now) + 1)]
