"""A cluster's API as raw JSON over the official asynchronous client, and the connections of all clusters.

Raw, because typed lists cost a second and more per thousand objects. Every call has a timeout, none is retried
here: Temporal retries with the whole picture.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import aiohttp
import msgspec

from activities.cluster_client import client_for
from activities.cluster_errors import ClusterError
from activities.kubeconfig import Kubeconfig, read_kubeconfig
from activities.vault import Vault
from core.calls import ClusterRef

TIMEOUT_S = 15.0
WATCH_SLACK_S = 30.0  # how much longer than the server's own limit a watch is waited for
# A watch that says nothing for so long hangs on a dead connection: bookmarks come about every minute.
WATCH_SILENCE_S = 90.0
MERGE_PATCH = "application/merge-patch+json"
USER_AGENT = "managed-node-pools"

Json = dict[str, Any]


class PageMeta(msgspec.Struct):
    """The version of the list that a page belongs to, and the token of the next page, '' on the last."""

    version: str = msgspec.field(name="resourceVersion", default="")
    more: str = msgspec.field(name="continue", default="")


class Page(msgspec.Struct):
    """A list, or a part of one, whose objects are not decoded yet: most of them are known already."""

    metadata: PageMeta
    items: list[msgspec.Raw] | None = None


class ClusterApi:
    """One connection. `server` and `ca_pem` are what joining nodes must know as well."""

    def __init__(self, config: Kubeconfig) -> None:
        self.server = config.server
        self.ca_pem = config.ca_pem
        self._token = config.token
        self._client = client_for(config)
        self._closed = False
        self._watches: set[aiohttp.StreamReader] = set()

    @classmethod
    def from_text(cls, kubeconfig: str) -> ClusterApi:
        """A connection by kubeconfig. Raises ClusterError when that is not whole."""
        return cls(read_kubeconfig(kubeconfig))

    async def close(self) -> None:
        """Close the connection; calls under way and later ones fail."""
        self._closed = True
        for watch in self._watches:  # aiohttp would let them wait for lines that no longer come
            watch.set_exception(aiohttp.ClientConnectionError("closed"))
        await self._client.close()  # type: ignore[no-untyped-call]

    async def get(self, path: str, **params: str) -> Json:
        """GET an object or a list. Raises ClusterError."""
        return await self._json("GET", path, params)

    async def page(self, path: str, limit: int, more: str = "") -> Page:
        """GET a list of at most `limit` objects, all of them where it is 0, or its next page. Raises ClusterError."""
        params = {"limit": str(limit)} if limit else {}
        with self._failures():
            body = await self._read("GET", path, params | ({"continue": more} if more else {}))
            return msgspec.json.decode(body, type=Page)

    async def post(self, path: str, body: Json, **params: str) -> Json:
        """POST an object. Raises ClusterError."""
        return await self._json("POST", path, params, body)

    async def put(self, path: str, body: Json) -> Json:
        """PUT an object with the resourceVersion it was read with. Raises ClusterError (409 when it moved on)."""
        return await self._json("PUT", path, {}, body)

    async def patch(self, path: str, body: Json) -> Json:
        """Merge-patch an object; null removes. Raises ClusterError."""
        return await self._json("PATCH", path, {}, body)

    async def delete(self, path: str, *, uid: str | None = None, grace_s: int | None = None) -> bool:
        """DELETE an object; False where it was absent, or, with `uid`, is another one. Raises ClusterError."""
        body: Json = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid is not None:
            body["preconditions"] = {"uid": uid}
        if grace_s is not None:
            body["gracePeriodSeconds"] = grace_s
        try:
            await self._json("DELETE", path, {}, body)
        except ClusterError as error:
            if error.status == 404 or (error.status == 409 and uid is not None):
                return False
            raise
        return True

    async def version(self) -> str:
        """The control plane's gitVersion, such as v1.34.1+k3s1. Raises ClusterError."""
        return str((await self.get("/version"))["gitVersion"])

    async def watch(self, path: str, version: str, seconds: int, opened: Callable[[], None]) -> AsyncIterator[Json]:
        """The events of a watch from a resourceVersion on, until the server ends it. Raises ClusterError.

        `opened` is called once the server has accepted it, since the first event may be long in coming.
        """
        query = {"watch": "true", "resourceVersion": version, "allowWatchBookmarks": "true"}
        timeout = aiohttp.ClientTimeout(
            total=seconds + WATCH_SLACK_S, sock_connect=TIMEOUT_S, sock_read=WATCH_SILENCE_S
        )
        with self._failures():
            response = await self._send("GET", path, {**query, "timeoutSeconds": str(seconds)}, None, timeout)
            lines: aiohttp.StreamReader = response.response.content
            self._watches.add(lines)
            try:
                opened()
                async for line in lines:
                    yield _event(line)
            finally:
                self._watches.discard(lines)
                response.response.close()

    async def _json(self, method: str, path: str, params: dict[str, str], body: Json | None = None) -> Json:
        with self._failures():
            answer: Json = msgspec.json.decode(await self._read(method, path, params, body) or b"{}")
        return answer

    async def _read(self, method: str, path: str, params: dict[str, str], body: Json | None = None) -> bytes:
        response = await self._send(method, path, params, body, aiohttp.ClientTimeout(total=TIMEOUT_S))
        answer: bytes = await response.read()
        return answer

    async def _send(
        self, method: str, path: str, params: dict[str, str], body: Json | None, timeout: aiohttp.ClientTimeout
    ) -> Any:
        if self._closed:
            raise _closed()
        headers = {"Accept": "application/json", "User-Agent": USER_AGENT}
        if method == "PATCH":
            headers["Content-Type"] = MERGE_PATCH
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if method in ("POST", "PUT", "PATCH"):
            params = {**params, "fieldManager": USER_AGENT}
        url = f"{self.server}{path}" + (f"?{urlencode(params)}" if params else "")
        request = self._client.rest_client.request
        response = await request(method, url, headers, body, _request_timeout=timeout)  # type: ignore[no-untyped-call]
        if response.status >= 400:
            raise _refusal(response, await response.read())
        return response

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Turn every way in which an answer can fail to come into ClusterError."""
        try:
            yield
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise _no_answer(error) from error
        except (AssertionError, RuntimeError) as error:  # aiohttp, for a call under way while its session closes
            if not self._closed:
                raise
            raise _closed() from error


class ClusterApis:
    """The connections of all registered clusters, one each, renewed when the stored kubeconfig was replaced."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._open: dict[tuple[str, str], tuple[str, ClusterApi]] = {}

    async def get(self, cluster: ClusterRef) -> ClusterApi:
        """The connection to `cluster`. Raises ClusterError, and ApplicationError from the vault."""
        key = (cluster.organization, cluster.cluster)
        access = await self._vault.access(cluster)
        version = access.connection.sealed.version
        known = self._open.get(key)
        if known is not None and known[0] == version:
            return known[1]
        api = ClusterApi.from_text(access.kubeconfig)
        self._open[key] = (version, api)
        if known is not None:
            await known[1].close()
        return api

    async def close(self) -> None:
        """Close all connections."""
        for _, api in self._open.values():
            await api.close()
        self._open.clear()


def _event(line: bytes) -> Json:
    event: Json = msgspec.json.decode(line)
    if event["type"] == "ERROR":
        status = event["object"]
        raise ClusterError(status.get("code"), status.get("reason", ""), status.get("message", ""), status)
    return event


def _closed() -> ClusterError:
    return ClusterError(None, "Closed", "the kubeconfig was replaced; this connection is closed")


def _refusal(response: Any, body: bytes) -> ClusterError:
    status, reason = response.status, response.reason or ""
    after = response.headers.get("Retry-After", "")
    wait_s = float(after) if after.isdigit() else None
    try:
        answer = msgspec.json.decode(body)
        return ClusterError(status, str(answer.get("reason") or reason), str(answer["message"]), answer, wait_s)
    except (ValueError, KeyError, AttributeError):  # a proxy's page, or a plain text
        return ClusterError(status, reason, f"it answered {status} {reason}", None, wait_s)


def _no_answer(error: Exception) -> ClusterError:
    text = "it did not answer in time" if isinstance(error, TimeoutError) else f"no connection: {error}"
    return ClusterError(None, type(error).__name__, text)
