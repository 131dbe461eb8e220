"""The cordon of a node that is to go, and its undoing where the node stays after all."""

from __future__ import annotations

import time

from temporalio import activity

from activities.cluster_api import ClusterApis
from activities.cluster_errors import ClusterError, as_temporal
from activities.kube_events import EventWriter
from activities.node_writes import is_machines, write_node
from core import autoscale_calls, machine_calls
from core.autoscale_calls import Uncordoned
from core.cordon import cordon, uncordon
from core.kube_events import About, AboutKind, EventReason
from core.machine import Presence
from core.machine_calls import Cordoned


class CordonActivities:
    """Activities that keep pods off a node, and let them on it again, of which the cluster's users are told."""

    def __init__(self, apis: ClusterApis, events: EventWriter) -> None:
        self._apis = apis
        self._events = events

    @activity.defn(name=machine_calls.CORDON_NODE.name)
    async def cordon_node(self, call: machine_calls.CordonNode) -> Cordoned:
        """Cordon the node, out of load balancers too, and say on it what of that we did; what is there stays."""
        taint = str(int(time.time())) if call.taint else ""
        try:
            done = await write_node(
                await self._apis.get(call.cluster),
                call.machine,
                lambda node: is_machines(node, call.machine, call.server_id, call.node_uid),
                lambda node: cordon(node, call.operation_id, taint),
            )
        except ClusterError as error:
            raise as_temporal(error) from error
        if done is None:
            return Cordoned(presence=Presence.ABSENT)
        return Cordoned(presence=Presence.PRESENT, node_uid=done.uid)

    @activity.defn(name=autoscale_calls.UNCORDON_NODE.name)
    async def uncordon_node(self, call: autoscale_calls.UncordonNode) -> Uncordoned:
        """Undo what the operation's cordon did to the node of that UID. What others did stays."""
        try:
            done = await write_node(
                await self._apis.get(call.cluster),
                call.machine,
                lambda node: node.uid == call.node_uid,
                lambda node: uncordon(node, call.operation_id),
            )
        except ClusterError as error:
            raise as_temporal(error) from error
        if done is None:
            return Uncordoned(presence=Presence.ABSENT)
        about = About(AboutKind.NODE, call.machine, done.uid)
        self._events.tell(call.cluster, about, EventReason.SCALE_DOWN_FAILED, call.why, warning=True)
        return Uncordoned(presence=Presence.PRESENT, undone=done.summary)
