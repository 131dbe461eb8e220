"""The few calls a kubelet makes on the Kubernetes API."""

import json
from collections.abc import AsyncIterator
from ssl import SSLContext
from typing import Any

import aiohttp

STRATEGIC = "application/strategic-merge-patch+json"
_JSON = "application/json"
_TIMEOUT = aiohttp.ClientTimeout(total=30)
_WATCH_SECONDS = 300


class Refused(Exception):
    """The API server answered with an error: its HTTP code, and the message of its Status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class NodeApi:
    """A session with one API server as one user. The HTTP session belongs to the caller."""

    def __init__(self, session: aiohttp.ClientSession, url: str, tls: SSLContext, bearer: str = "") -> None:
        self.url = url.rstrip("/")
        self._session = session
        self._tls = tls
        self._headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}

    async def call(self, method: str, path: str, body: Any = None, content_type: str = _JSON) -> Any:
        """One request with its JSON answer. Raises Refused, aiohttp.ClientError or TimeoutError."""
        data = None if body is None else json.dumps(body)
        headers = self._headers | ({"Content-Type": content_type} if data else {})
        async with self._session.request(
            method, self.url + path, data=data, headers=headers, ssl=self._tls, timeout=_TIMEOUT
        ) as response:
            if response.status >= 400:
                raise Refused(response.status, await response.text())
            return await response.json()

    async def text(self, path: str) -> str | None:
        """A plain text, None where there is none. Raises aiohttp.ClientError or TimeoutError."""
        async with self._session.get(self.url + path, ssl=self._tls, timeout=_TIMEOUT) as response:
            return await response.text() if response.status == 200 else None

    async def watch(self, path: str) -> AsyncIterator[dict[str, Any]]:
        """Present objects and then changes, until the server ends it. Raises as `call` does."""
        params = {"watch": "1", "resourceVersion": "0", "timeoutSeconds": str(_WATCH_SECONDS)}
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=_WATCH_SECONDS + 30)
        separator = "&" if "?" in path else "?"
        query = separator + "&".join(f"{key}={value}" for key, value in params.items())
        async with self._session.get(
            self.url + path + query, headers=self._headers, ssl=self._tls, timeout=timeout
        ) as response:
            if response.status >= 400:
                raise Refused(response.status, await response.text())
            buffer = b""
            async for chunk in response.content.iter_any():
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    yield json.loads(line)
