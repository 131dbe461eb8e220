"""What a cluster must be and allow before it is registered."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from activities.cluster_api import ClusterApi
from activities.cluster_errors import ClusterError
from core.calls import ClusterProbe, Health, JoinMethod, ProbeCluster
from core.endpoint import ENDPOINT_RULE, joinable
from core.version import Version

_OLDEST_KUBEADM = (1, 31)  # the first that reads kubeadm.k8s.io/v1beta4


class _Right(NamedTuple):
    """One thing that the kubeconfig's user must be allowed to do."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}" + (f" in {self.namespace}" if self.namespace else "")


# What decisions about pods and nodes rest on.
_WATCHED = (
    ("persistentvolumeclaims", ""),
    ("persistentvolumes", ""),
    ("replicationcontrollers", ""),
    ("daemonsets", "apps"),
    ("replicasets", "apps"),
    ("statefulsets", "apps"),
    ("jobs", "batch"),
    ("poddisruptionbudgets", "policy"),
    ("storageclasses", "storage.k8s.io"),
)

RIGHTS = (
    *(_Right(verb, "nodes") for verb in ("get", "list", "watch", "patch", "update", "delete")),
    *(_Right(verb, "pods") for verb in ("list", "watch")),
    _Right("create", "pods/eviction"),
    _Right("list", "volumeattachments", "storage.k8s.io"),
    *(_Right(verb, resource, group) for resource, group in _WATCHED for verb in ("list", "watch")),
    *(_Right(verb, "events") for verb in ("create", "patch")),
    *(_Right(verb, "secrets", "", "kube-system") for verb in ("get", "list", "create", "patch", "delete")),
)


async def probe(api: ClusterApi, call: ProbeCluster) -> ClusterProbe:
    """Does it answer, which cluster is it, can machines join as asked, may we do what we must. Never raises."""
    endpoint = (call.api_endpoint or api.server).rstrip("/")
    if not joinable(endpoint):
        text = f"nodes need {ENDPOINT_RULE}: give it by --api-endpoint"
        return ClusterProbe(health=Health.INVALID, reason="ApiEndpoint", message=text)
    try:
        version = await api.version()
        problem = mismatch(version, call.join)
        if problem:
            return ClusterProbe(health=Health.INVALID, reason="JoinMethod", message=problem)
        namespace = await api.get("/api/v1/namespaces/kube-system")
        allowed = await asyncio.gather(*(_may(api, right) for right in RIGHTS))
    except ClusterError as error:
        return _not_reached(error)
    missing = [str(right) for right, may in zip(RIGHTS, allowed, strict=True) if not may]
    if missing:
        text = f"the kubeconfig's user may not {', '.join(missing)}"
        return ClusterProbe(health=Health.INVALID, reason="Forbidden", message=text)
    return ClusterProbe(
        health=Health.VALID, version=version, cluster_id=namespace["metadata"]["uid"], api_endpoint=endpoint
    )


def mismatch(version: str, join: JoinMethod) -> str:
    """Why machines cannot join a cluster of `version` by `join`; '' where they can."""
    try:
        parsed = Version.parse(version)
    except ValueError as error:
        return str(error)
    fitting = parsed.distribution or JoinMethod.KUBEADM.value
    if join != fitting:
        return f"the cluster runs {version}, which nodes do not join by {join}: register it with --join {fitting}"
    if join is JoinMethod.KUBEADM and (parsed.major, parsed.minor) < _OLDEST_KUBEADM:
        return f"the cluster runs {version}; nodes join by kubeadm from v{'.'.join(map(str, _OLDEST_KUBEADM))} on"
    return ""


def _not_reached(error: ClusterError) -> ClusterProbe:
    if error.status == 401:
        text = "the cluster does not accept the kubeconfig's credentials"
        return ClusterProbe(health=Health.INVALID, reason="Unauthorized", message=text)
    health = Health.INVALID if error.status == 403 else Health.UNKNOWN
    return ClusterProbe(
        health=health, reason=str(error.status or error.reason), message=f"the cluster: {error.message}"
    )


async def _may(api: ClusterApi, right: _Right) -> bool:
    """Ask the API server; one that cannot say is taken at its word later, when it refuses."""
    resource, _, subresource = right.resource.partition("/")
    attributes: dict[str, Any] = {"verb": right.verb, "group": right.group, "resource": resource}
    attributes |= {"subresource": subresource, "namespace": right.namespace}
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
