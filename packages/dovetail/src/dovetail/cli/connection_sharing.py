"""One process accepts connections and passes each to the worker that has the fewest.

Workers that accept from one socket themselves do not share evenly: the first one that wakes up
accepts all connections that wait. With SO_REUSEPORT the system picks a worker by a hash of the
addresses, which is uneven for a few connections, and resets those that wait for a worker that ends.

Each worker has a socket pair. The supervisor sends connections through it, and the worker reports
how many it has received and how many are open.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import Callable

from dovetail.transports.acceptors import ProtocolFactory, accept_waiting, adopt

__all__ = ["ConnectionSharer", "SharedAcceptor"]

# Connections received, and connections open.
_REPORT = struct.Struct("!II")
# A worker that has not taken a connection for so many seconds gets no others, if there is a choice:
# a handler blocks its event loop.
_BLOCKED_SECONDS = 1.0
# Seconds until a connection that no worker could take is offered again.
_RETRY_SECONDS = 0.05


class _Peer:
    """A worker, as the supervisor sees it."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.sent = 0
        self.received = 0
        self.open = 0
        # When the last connection was sent, and the oldest one that has not been received.
        self.sent_at = 0.0
        self.waits_since = 0.0
        self._rest = b""

    @property
    def load(self) -> int:
        return self.open + self.sent - self.received

    def rank(self, now: float) -> tuple[bool, int, float]:
        """The worker with the lowest rank gets the next connection."""
        is_blocked = self.sent > self.received and now - self.waits_since > _BLOCKED_SECONDS
        # Equal workers take turns.
        return is_blocked, self.load, self.sent_at

    def send(self, connection: socket.socket, now: float) -> bool:
        try:
            socket.send_fds(self.channel, [b"."], [connection.fileno()])
        except OSError:
            return False
        if self.sent == self.received:
            self.waits_since = now
        self.sent_at = now
        self.sent += 1
        return True

    def read_reports(self) -> bool:
        """Read what the worker has reported; False if it has ended."""
        try:
            data = self.channel.recv(_REPORT.size * 64)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._rest += data
        end = len(self._rest) // _REPORT.size * _REPORT.size
        if end:
            received, self.open = _REPORT.unpack(self._rest[end - _REPORT.size : end])
            if received > self.received:
                self.received, self.waits_since = received, time.monotonic()
            self._rest = self._rest[end:]
        return bool(data)


class ConnectionSharer:
    """The supervisor's side: accepts connections and passes them on."""

    def __init__(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        self._listener = listener
        self._peers: dict[socket.socket, _Peer] = {}
        # Accepted, but no worker could take them.
        self._held: list[socket.socket] = []
        self._retry: asyncio.TimerHandle | None = None

    def add(self, channel: socket.socket) -> None:
        """Pass connections to this worker, too."""
        channel.setblocking(False)
        peer = self._peers[channel] = _Peer(channel)
        asyncio.get_running_loop().add_reader(channel, self._read_reports, peer)
        self._share()

    def remove(self, channel: socket.socket) -> None:
        """Pass no more connections to this worker; may be called twice."""
        if self._peers.pop(channel, None) is not None:
            asyncio.get_running_loop().remove_reader(channel)
        if not self._peers and self._listener.fileno() >= 0:
            # New connections wait until there is a worker again.
            asyncio.get_running_loop().remove_reader(self._listener)

    def close(self) -> None:
        """Pass on the connections that wait, and refuse new ones."""
        if self._peers:
            self._pass_on()
        asyncio.get_running_loop().remove_reader(self._listener)
        self._listener.close()
        if self._retry is not None:
            self._retry.cancel()
        for connection in self._held:
            connection.close()

    def _read_reports(self, peer: _Peer) -> None:
        if not peer.read_reports():
            self.remove(peer.channel)

    def _share(self) -> None:
        """Accept connections while there are workers that take them."""
        self._retry = None
        loop = asyncio.get_running_loop()
        if self._pass_on():
            loop.add_reader(self._listener, self._share)
        else:
            loop.remove_reader(self._listener)
            if self._peers:
                self._retry = loop.call_later(_RETRY_SECONDS, self._share)

    def _pass_on(self) -> bool:
        """Pass on the connections that wait; False if workers did not take all."""
        waiting = [*self._held, *accept_waiting(self._listener)]
        self._held = [connection for connection in waiting if not self._send(connection)]
        return not self._held

    def _send(self, connection: socket.socket) -> bool:
        now = time.monotonic()
        peers = sorted(self._peers.values(), key=lambda peer: peer.rank(now))
        if any(peer.send(connection, now) for peer in peers):
            connection.close()
            return True
        return False


class SharedAcceptor:
    """The worker's side: an `Acceptor` that gets its connections from the supervisor."""

    def __init__(self, channel: socket.socket, port: int) -> None:
        self.port = port
        channel.setblocking(False)
        self._channel = channel
        self._received = 0
        # The connections that are received and not counted as open yet.
        self._adopting: dict[asyncio.Task[None], None] = {}
        self._reported = (0, 0)
        self._is_report_due = False
        self._factory: ProtocolFactory = asyncio.Protocol
        self._count: Callable[[], int] = int

    async def open(self, factory: ProtocolFactory, count: Callable[[], int]) -> None:
        """Serve new connections with the protocols that `factory` makes."""
        self._factory, self._count = factory, count
        asyncio.get_running_loop().add_reader(self._channel, self._receive)

    async def stop(self) -> None:
        """Take no more connections; those that the supervisor has sent are served."""
        self._receive()
        self.close()
        while self._adopting:
            await asyncio.sleep(0)

    def close(self) -> None:
        """Stop at once; may be called twice."""
        if self._channel.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._channel)
            self._channel.close()

    def _receive(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                data, descriptors, _, _ = socket.recv_fds(self._channel, 1, 1)
            except OSError:
                break
            if not data:
                # The supervisor has ended; the end of stdin stops this process.
                loop.remove_reader(self._channel)
                break
            for descriptor in descriptors:
                self._take(socket.socket(fileno=descriptor))
        self._report()

    def _take(self, connection: socket.socket) -> None:
        self._received += 1

        def forget(_: object) -> None:
            self._adopting.pop(task, None)

        def make_protocol() -> asyncio.BaseProtocol:
            return self._watch(self._factory(), forget)

        task = asyncio.get_running_loop().create_task(adopt(connection, make_protocol))
        self._adopting[task] = None
        task.add_done_callback(forget)

    def _watch(
        self, protocol: asyncio.BaseProtocol, on_made: Callable[[object], None]
    ) -> asyncio.BaseProtocol:
        """Note when a connection begins and ends; another protocol may take it over before."""
        begin, end = protocol.connection_made, protocol.connection_lost

        def connection_made(transport: asyncio.BaseTransport) -> None:
            # From now on it is counted as open.
            on_made(transport)
            begin(transport)

        def connection_lost(error: Exception | None) -> None:
            end(error)
            del protocol.connection_made, protocol.connection_lost
            if not self._is_report_due:
                # One report for all that end together.
                self._is_report_due = True
                asyncio.get_running_loop().call_soon(self._report)

        vars(protocol).update(connection_made=connection_made, connection_lost=connection_lost)
        return protocol

    def _report(self) -> None:
        self._is_report_due = False
        report = (self._received, self._count() + len(self._adopting))
        if report != self._reported:
            # If the supervisor is slow or gone, a later report says the same.
            with contextlib.suppress(OSError):
                self._channel.send(_REPORT.pack(*report))
                self._reported = report
