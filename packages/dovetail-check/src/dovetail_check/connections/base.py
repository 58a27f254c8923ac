"""The interface of a connection, and what a caller passes to it.

A connection sends bytes unchanged, records replies unchanged and evaluates nothing. It only matches
replies to requests.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from dovetail_check.budget import Budget, FloodError
from dovetail_check.exchanges import Exchange
from dovetail_check.frames import Frame, Kind
from dovetail_check.recording import Recording

__all__ = ["Connection", "Outgoing", "Recorder", "RequestHandler", "UnreachableError"]

# Takes a request from the server and returns the response to send, if any.
RequestHandler: TypeAlias = Callable[[dict[str, Any]], bytes | None]


class UnreachableError(Exception):
    """The connection cannot be opened: the process did not start, or the URL does not respond."""


class Recorder(NamedTuple):
    """Adds the frames of one connection to the recording."""

    recording: Recording
    session: str
    connection: str

    def add(self, kind: Kind, data: bytes | None = None, **more: Any) -> Frame:
        """Record one frame."""
        return self.recording.add(self.session, self.connection, kind, data, **more)


class Outgoing(NamedTuple):
    """One message or HTTP request to send."""

    data: bytes
    tag: str
    # The ids of the expected responses; empty if none is expected, None if the request has no
    # readable id, so that a response would have none either.
    ids: tuple[Any, ...] | None = ()
    # Seconds to wait for the reply.
    timeout: float = 5.0
    # Return after the first reply and keep the stream open, for subscriptions.
    keep_open: bool = False
    # HTTP only.
    verb: str = "POST"
    headers: Mapping[str, str] = {}
    # A URL other than the endpoint.
    url: str | None = None
    # Ends the wait before the timeout when it is set.
    stop_waiting: asyncio.Event | None = None
    # The maximum size of a response body that is not a stream.
    limit: int = 64 * 1024 * 1024


class Connection(ABC):
    """One connection to a server."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        # Handles requests from the server; set by the client that uses the connection.
        self.on_request: RequestHandler | None = None
        self.budget = Budget(recorder.recording.budget)
        # Whether the server sent more than a check keeps, so that the connection is closed.
        self.is_flooded = False

    @abstractmethod
    async def open(self) -> None:
        """Connect; raises UnreachableError."""

    @abstractmethod
    async def send(self, outgoing: Outgoing) -> Exchange:
        """Send a message and wait for its reply. Errors of the server become frames."""

    @abstractmethod
    async def close(self) -> None:
        """Close the connection and end what it started."""

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether messages can be sent."""

    def stop(self, error: FloodError) -> None:
        """Record that the server sent too much."""
        if not self.is_flooded:
            self.is_flooded = True
            self.recorder.recording.floods.append(self.recorder.session)
            self.recorder.add("flooded", str(error).encode())

    async def wait(self, done: asyncio.Event, outgoing: Outgoing) -> bool:
        """Wait for the event; returns False after the timeout or `stop_waiting`."""
        waits = [asyncio.ensure_future(done.wait())]
        if outgoing.stop_waiting is not None:
            waits.append(asyncio.ensure_future(outgoing.stop_waiting.wait()))
        await asyncio.wait(waits, timeout=outgoing.timeout, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        return done.is_set()

    async def keep_listening(self, seconds: float) -> None:
        """Record incoming messages for a while."""
        await asyncio.sleep(seconds)
