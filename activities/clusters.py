"""A cluster as a whole: probed before it is registered, given its CNI once, watched for health and version."""

from __future__ import annotations

import time
from typing import Any

import yaml
from temporalio import activity

from activities.cluster_api import ClusterApi, ClusterApis
from activities.cluster_errors import ClusterError, as_temporal
from activities.manifests import apply
from activities.node_cache import NodeCaches
from activities.node_facts import digest
from activities.project import beat_for
from activities.vault import Vault
from core import calls
from core.calls import ClusterProbe, ClusterRef, Health, JoinMethod
from core.version import Version

# What the service account must be allowed to do, tried by asking the API server itself.
_RIGHTS = (
    ("list", "", "nodes", ""),
    ("update", "", "nodes", ""),
    ("delete", "", "nodes", ""),
    ("list", "", "pods", ""),
    ("create", "", "pods/eviction", ""),
    ("create", "", "secrets", "kube-system"),
    ("delete", "", "secrets", "kube-system"),
)


class ClusterActivities:
    """Activities on clusters. `poll_s` is how often a watched cluster's version is asked for."""

    def __init__(self, apis: ClusterApis, vault: Vault, caches: NodeCaches, poll_s: float = 30.0) -> None:
        self._apis = apis
        self._vault = vault
        self._caches = caches
        self._poll_s = poll_s

    @activity.defn(name=calls.PROBE_CLUSTER.name)
    async def probe_cluster(self, call: calls.ProbeCluster) -> ClusterProbe:
        """Try a kubeconfig that is not stored yet: does it answer, who is it, may we do what we must."""
        ref = ClusterRef(organization=call.organization, cluster=call.cluster)
        try:
            api = ClusterApi.from_text(self._vault.open_kubeconfig(ref, call.sealed))
        except ClusterError as error:
            return ClusterProbe(health=Health.INVALID, reason=error.reason, message=error.message)
        try:
            return await _probe(api, call)
        except ClusterError as error:
            refused = error.status in (401, 403)
            text = "the cluster does not accept the kubeconfig's user" if refused else f"the cluster: {error.message}"
            return ClusterProbe(
                health=Health.INVALID if refused else Health.UNKNOWN,
                reason=str(error.status or error.reason),
                message=text,
            )
        finally:
            await api.close()

    @activity.defn(name=calls.APPLY_MANIFEST.name)
    async def apply_manifest(self, call: calls.ApplyManifest) -> calls.Applied:
        """Apply every object of a manifest, in its order."""
        try:
            api = ClusterApi.from_text(self._vault.open_kubeconfig(call.cluster, call.sealed))
            try:
                documents = [each for each in yaml.safe_load_all(call.manifest) if each]
                return calls.Applied(objects=[await apply(api, each) for each in documents])
            finally:
                await api.close()
        except ClusterError as error:
            raise as_temporal(error) from error

    @activity.defn(name=calls.WATCH_CLUSTER.name)
    async def watch_cluster(self, call: calls.WatchCluster) -> calls.ClusterSeen:
        """Return when health, version or the number of nodes are other than known, or when the time is over."""
        begun = time.monotonic()
        while True:
            seen = await self._see(call.cluster)
            over = time.monotonic() - begun >= call.wait_s or activity.is_worker_shutdown()
            if seen.digest != call.known_digest or over:
                return seen
            await beat_for(self._poll_s)

    async def _see(self, cluster: ClusterRef) -> calls.ClusterSeen:
        cache = self._caches.of(cluster)
        try:
            version = await (await self._apis.get(cluster)).version()
        except ClusterError as error:
            health = Health.INVALID if error.status in (401, 403) else Health.UNKNOWN
            text = digest(health, error.message)
            return calls.ClusterSeen(health=health, reason=error.reason, message=error.message, digest=text)
        if cache.generation == 0:
            await cache.wait_change(0, 5.0)
        count = len(cache.nodes)
        return calls.ClusterSeen(
            health=Health.VALID, version=version, nodes=count, digest=digest("valid", version, str(count))
        )


async def _probe(api: ClusterApi, call: calls.ProbeCluster) -> ClusterProbe:
    version = await api.version()
    problem = _mismatch(version, call.join)
    if problem:
        return ClusterProbe(health=Health.INVALID, reason="JoinMethod", message=problem)
    namespace = await api.get("/api/v1/namespaces/kube-system")
    missing = [
        f"{verb} {what}" for verb, group, what, where in _RIGHTS if not await _may(api, verb, group, what, where)
    ]
    if missing:
        text = f"the kubeconfig's user may not {', '.join(missing)}"
        return ClusterProbe(health=Health.INVALID, reason="Forbidden", message=text)
    return ClusterProbe(
        health=Health.VALID,
        version=version,
        cluster_id=namespace["metadata"]["uid"],
        api_endpoint=(call.api_endpoint or api.server).rstrip("/"),
    )


def _mismatch(version: str, join: JoinMethod) -> str:
    """Why machines cannot join this cluster by `join`; '' where they can."""
    try:
        distribution = Version.parse(version).distribution
    except ValueError as error:
        return str(error)
    wanted = "" if join is JoinMethod.KUBEADM else join.value
    if distribution == wanted:
        return ""
    fitting = distribution or "kubeadm"
    return f"the cluster runs {version}, which nodes do not join by {join}: register it with --join {fitting}"


async def _may(api: ClusterApi, verb: str, group: str, resource: str, namespace: str) -> bool:
    """Ask the API server; one that cannot say is taken at its word later, when it refuses."""
    name, _, subresource = resource.partition("/")
    attributes: dict[str, Any] = {"verb": verb, "group": group, "resource": name, "namespace": namespace}
    if subresource:
        attributes["subresource"] = subresource
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    try:
        answer = await api.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    except ClusterError as error:
        if error.status == 404:
            return True
        raise
    return bool(answer["status"].get("allowed"))
