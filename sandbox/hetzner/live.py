"""A served cloud in a thread of its own, for callers that block, such as the real client library."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TypeVar

from sandbox.clock import ManualClock
from sandbox.hetzner.app import create_app
from sandbox.hetzner.cloud import HetznerCloud
from sandbox.hetzner.serve import serve

_Result = TypeVar("_Result")


class LiveCloud:
    """Handle of a cloud that runs in another thread; reach into it with `call` only."""

    def __init__(self, cloud: HetznerCloud, url: str, loop: asyncio.AbstractEventLoop) -> None:
        self.cloud = cloud
        self.url = url
        self._loop = loop

    def call(self, function: Callable[[HetznerCloud], _Result]) -> _Result:
        """Run `function` on the cloud, in the thread that owns it, and return what it returns."""
        result: Future[_Result] = Future()

        def run() -> None:
            try:
                result.set_result(function(self.cloud))
            # Whatever went wrong belongs to the caller in the other thread.
            except BaseException as error:
                result.set_exception(error)

        self._loop.call_soon_threadsafe(run)
        return result.result()

    def advance(self, seconds: float) -> None:
        """Move the clock, which must be a manual one, and let everything happen that is due then."""

        def move(cloud: HetznerCloud) -> None:
            assert isinstance(cloud.clock, ManualClock)
            cloud.clock.advance(seconds)
            cloud.settle()

        self.call(move)


@contextlib.contextmanager
def live(cloud: HetznerCloud) -> Iterator[LiveCloud]:
    """Serve `cloud` from a new thread until the block ends; its state is saved then."""
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    started: Future[LiveCloud] = Future()

    async def main() -> None:
        try:
            async with serve(create_app(cloud)) as url:
                started.set_result(LiveCloud(cloud, url, loop))
                await stop.wait()
        # A failed start has nobody else to tell.
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),), name="hetzner cloud")
    thread.start()
    try:
        yield started.result()
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
