"""The one place that talks to `hcloud`: threads, timeouts, and its many kinds of failure made one.

The client is synchronous and its sessions are not safe to share between threads, so each call borrows a client
that nobody else uses at that time. Its own retries, five of them and blind, are cut to one: Temporal retries too,
and its next attempt looks before it creates.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import requests
from hcloud import APIException, Client, HCloudException
from hcloud.actions import ActionException

from activities.failures import Failure
from core.cloud_errors import CloudClass, CloudFailure, classify

Answer = TypeVar("Answer")

TIMEOUT = (10.0, 60.0)  # connect, read: creates were seen to take most of a minute
IDLE_CLIENTS = 8  # kept per token
_TOKEN_START = re.compile(r"token '[^']*'")  # the reply to a spent budget quotes the token's first characters


class Cloud:
    """Hetzner Cloud at `endpoint`, for any token. `workers` bounds the calls in flight."""

    def __init__(self, endpoint: str, workers: int = 16) -> None:
        self._endpoint = endpoint
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="hcloud")
        self._idle: dict[str, list[Client]] = defaultdict(list)

    async def call(self, token: str, act: Callable[[Client], Answer]) -> Answer:
        """Run `act` with a client for `token` in a thread. Raises Failure for whatever goes wrong in it."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._borrowed, token, act)

    def close(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _borrowed(self, token: str, act: Callable[[Client], Answer]) -> Answer:
        idle = self._idle[token]
        try:
            client = idle.pop()
        except IndexError:
            client = self._new(token)
        try:
            return act(client)
        except (HCloudException, requests.RequestException, KeyError, TypeError, ValueError) as error:
            raise Failure(understand(error)) from error
        finally:
            if len(idle) < IDLE_CLIENTS:
                idle.append(client)

    def _new(self, token: str) -> Client:
        client = Client(
            token,
            api_endpoint=self._endpoint,
            application_name="managed-node-pools",
            timeout=TIMEOUT,
        )
        inner = getattr(client, "_client", client)
        if hasattr(inner, "_retry_max_retries"):
            inner._retry_max_retries = 1
        return client


def understand(error: Exception) -> CloudFailure:
    """What a failure of the client means. A reply without sense leaves the outcome unknown, never 'gone'."""
    if isinstance(error, APIException):
        message = _TOKEN_START.sub("this token", str(error.message))
        cls = classify(str(error.code), message)
        return CloudFailure(cls=cls, code=str(error.code), message=message, correlation_id=error.correlation_id or "")
    if isinstance(error, ActionException):
        return CloudFailure(cls=CloudClass.UNKNOWN, code="action_failed", message=str(error))
    if isinstance(error, requests.RequestException):
        text = f"no answer from the cloud ({type(error).__name__})"
        return CloudFailure(cls=CloudClass.UNKNOWN, code="no_answer", message=text)
    text = f"the cloud's answer made no sense ({type(error).__name__}: {error})"
    return CloudFailure(cls=CloudClass.UNKNOWN, code="broken_answer", message=text)
