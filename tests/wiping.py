"""Empties a real cluster between two tests of what the earlier one left."""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import Any

import aiohttp

_NOW: dict[str, Any] = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
# Owners first, so that nothing is made again; nodes last, when no pod is left for their kubelets.
_EVERYWHERE = (
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/daemonsets",
    "/apis/apps/v1/statefulsets",
    "/apis/apps/v1/replicasets",
    "/apis/batch/v1/jobs",
    "/apis/policy/v1/poddisruptionbudgets",
    "/api/v1/pods",
    "/api/v1/persistentvolumeclaims",
    "/api/v1/persistentvolumes",
    "/api/v1/nodes",
    "/apis/coordination.k8s.io/v1/leases",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    "/apis/storage.k8s.io/v1/volumeattachments",
    "/api/v1/secrets",
    "/api/v1/configmaps",
    "/api/v1/events",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/rbac.authorization.k8s.io/v1/roles",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings",
    "/api/v1/serviceaccounts",
    "/api/v1/namespaces",
)
_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_SYSTEMS_OWN = ("configmaps", "serviceaccounts", "leases", "roles", "rolebindings", "secrets")
_TESTS_OWN = ("bootstrap-token-", "pool-")  # what tests put into kube-system
_SECONDS = 60.0


class Wiping:
    """A client that may delete everything."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url

    async def run(self) -> None:
        """Delete everything that the control plane did not bring itself, and wait until it is gone."""
        deadline = time.monotonic() + _SECONDS
        while left := [each for path in _EVERYWHERE for each in await self._strangers(path)]:
            assert time.monotonic() < deadline, f"could not be removed: {left}"
            for path, held in left:
                if held:
                    await self._call("PATCH", path, {"metadata": {"finalizers": None}})
                await self._call("DELETE", path, _NOW)
            await asyncio.sleep(0.05)

    async def _strangers(self, path: str) -> list[tuple[str, bool]]:
        """The paths of what tests made, and whether only finalizers hold it."""
        items = (await self._call("GET", path))["items"]
        plural = path.rpartition("/")[2]
        return [
            (_path(path, plural, item), "deletionTimestamp" in item["metadata"])
            for item in items
            if not _is_kept(item["metadata"], plural)
        ]

    async def _call(self, method: str, path: str, body: Any = None) -> Any:
        """One request; what is not there any more needs no removing."""
        headers = {"Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"}
        async with self._session.request(method, self._url + path, json=body, headers=headers) as answer:
            assert answer.status < 300 or answer.status in (404, 409), await answer.text()
            return await answer.json()


def _path(path: str, plural: str, item: dict[str, Any]) -> str:
    meta = item["metadata"]
    namespace = f"namespaces/{meta['namespace']}/" if "namespace" in meta else ""
    return f"{path.removesuffix(plural)}{namespace}{plural}/{meta['name']}"


def _is_kept(meta: dict[str, Any], plural: str) -> bool:
    name = meta["name"]
    if plural == "namespaces":
        return name in _NAMESPACES
    if "kubernetes.io/bootstrapping" in (meta.get("labels") or {}) or name.startswith(("kubeadm:", "system:")):
        return True
    if plural in _SYSTEMS_OWN and meta.get("namespace") in ("kube-system", "kube-public"):
        return not name.startswith(_TESTS_OWN)
    return name in ("default", "kube-root-ca.crt") and plural in _SYSTEMS_OWN


async def wipe(url: str, token: str, authority: str) -> None:
    """Empty the cluster at `url`."""
    tls = ssl.create_default_context(cadata=authority)
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(ssl=tls)) as session:
        await Wiping(session, url).run()
