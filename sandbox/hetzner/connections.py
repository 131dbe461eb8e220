"""Open connections by the client's address, so that one of them can be cut in the middle of a request."""

import asyncio
import socket
import struct

Address = tuple[str, int]


class Connections:
    """Filled by the server's protocol, emptied as connections close."""

    def __init__(self) -> None:
        self._open: dict[Address, tuple[asyncio.Transport, asyncio.Event]] = {}

    def opened(self, transport: asyncio.Transport) -> None:
        self._open[_peer(transport)] = (transport, asyncio.Event())

    def closed(self, transport: asyncio.Transport) -> None:
        _, closed = self._open.pop(_peer(transport))
        closed.set()

    def close_all(self) -> None:
        for transport, _ in self._open.values():
            transport.close()

    async def reset(self, client: Address) -> None:
        """Send the client a TCP reset instead of an answer, and return once the server knows.

        Raises `KeyError` where the server does not register its connections.
        """
        transport, closed = self._open[client]
        raw: socket.socket = transport.get_extra_info("socket")
        # Lingering for zero seconds makes close() send RST instead of FIN.
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
        await closed.wait()


def _peer(transport: asyncio.Transport) -> Address:
    host, port = transport.get_extra_info("peername")[:2]
    return host, port
