"""Puts the worker together: which clients the activities share, and which workflows and activities it runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio.client import Client
from temporalio.worker import Worker

from activities.audit import AuditActivities
from activities.autoscale import AutoscaleActivities
from activities.cluster_api import ClusterApis
from activities.cluster_view import ClusterViews
from activities.clusters import ClusterActivities
from activities.cordon import CordonActivities
from activities.credentials import CredentialActivities
from activities.decision_events import DecisionEvents
from activities.drain import DrainActivities
from activities.hetzner_client import Cloud
from activities.join import JoinActivities
from activities.keys import KeyActivities
from activities.kube_events import EventWriter
from activities.listing import ServerListings
from activities.node_cache import NodeCaches
from activities.nodes import NodeActivities
from activities.servers import ServerActivities
from activities.temporal_lookups import TemporalLookups
from activities.vault import Vault
from activities.watch import WatchActivities
from worker.runner import workflow_runner
from worker.settings import Settings
from workflows.cluster import ClusterWorkflow
from workflows.messages import TASK_QUEUE
from workflows.organization import OrganizationWorkflow
from workflows.pool import PoolWorkflow
from workflows.provision import ProvisionMachine
from workflows.retire import RetireMachine

WORKFLOWS: list[type] = [OrganizationWorkflow, ClusterWorkflow, PoolWorkflow, ProvisionMachine, RetireMachine]
# A create may take 60 s and must not be cut off in the middle; the container's stop period is longer still.
GRACEFUL = timedelta(seconds=60)

# How long a workflow's next step waits for the worker that has it in memory, before any other may take it. Well
# below the time that an activity gives a query, so that one asked after a crash is answered within its first try.
STICKY = timedelta(seconds=4)


@dataclass(frozen=True)
class World:
    """The clients to the world outside, shared by all activities of the process."""

    vault: Vault
    cloud: Cloud
    apis: ClusterApis
    caches: NodeCaches
    views: ClusterViews
    listings: ServerListings
    events: EventWriter


@asynccontextmanager
async def world(client: Client, settings: Settings) -> AsyncIterator[World]:
    """The clients, closed at the end."""
    vault = Vault(client, settings.platform_key())
    cloud = Cloud(settings.cloud_endpoint)
    apis = ClusterApis(vault)
    caches = NodeCaches(apis)
    views = ClusterViews(apis, caches)
    events = EventWriter(apis)
    try:
        yield World(vault, cloud, apis, caches, views, ServerListings(cloud, vault, settings.listing_s), events)
    finally:
        await events.close()
        await views.close()
        await caches.close()
        await apis.close()
        cloud.close()


def activities(client: Client, outside: World, settings: Settings) -> list[Callable[..., Any]]:
    """Every activity, bound to its clients."""
    vault, cloud, apis, caches = outside.vault, outside.cloud, outside.apis, outside.caches
    join = JoinActivities(apis, vault)
    credentials = CredentialActivities(cloud, vault)
    servers = ServerActivities(cloud, vault, join.user_data, poll_s=settings.cloud_poll_s)
    keys = KeyActivities(cloud, vault)
    clusters = ClusterActivities(apis, vault, caches)
    nodes = NodeActivities(apis, caches)
    cordons = CordonActivities(apis, outside.events)
    scaling = AutoscaleActivities(apis, outside.views, DecisionEvents(outside.events), settings.autoscaling())
    lookups = TemporalLookups(client)
    return [
        scaling.autoscale,
        scaling.explain,
        scaling.recheck_node,
        credentials.probe_credential,
        credentials.check_placement,
        clusters.probe_cluster,
        clusters.apply_manifest,
        clusters.watch_cluster,
        keys.ensure_key,
        keys.remove_keys,
        join.ensure_token,
        join.revoke_token,
        servers.create_server,
        servers.await_server,
        servers.delete_server,
        servers.await_server_gone,
        nodes.await_node,
        cordons.cordon_node,
        cordons.uncordon_node,
        nodes.reap_node,
        nodes.sync_nodes,
        nodes.count_pods,
        DrainActivities(apis).drain_node,
        WatchActivities(caches, outside.listings).watch_pool,
        AuditActivities(apis, cloud, vault).audit_pool,
        lookups.read_pool,
        lookups.find_ended,
    ]


def build_worker(client: Client, outside: World, settings: Settings) -> Worker:
    """The worker, not yet running."""
    return Worker(
        client,
        task_queue=TASK_QUEUE,
        workflows=WORKFLOWS,
        activities=activities(client, outside, settings),
        workflow_runner=workflow_runner(),
        max_concurrent_activities=1000,
        graceful_shutdown_timeout=GRACEFUL,
        max_heartbeat_throttle_interval=timedelta(seconds=5),
        sticky_queue_schedule_to_start_timeout=STICKY,
    )
