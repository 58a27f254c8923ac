"""What a line is, whichever way the bytes go.

A line judges nothing and mends nothing: what is sent goes out as it is given, what comes is kept
as it came. It only finds out which answer belongs to what was sent, as well as can be told.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from dovetail_check.exchanges import Exchange
from dovetail_check.frames import Frame, Kind
from dovetail_check.recording import Recording

__all__ = ["Asked", "Line", "LineError", "Outgoing", "Place"]

# What the server asks of the client goes here; what comes back is sent to it.
Asked: TypeAlias = Callable[[dict[str, Any]], bytes | None]


class LineError(Exception):
    """No line could be opened: the process did not start, or nobody listens."""


class Place(NamedTuple):
    """Where frames are kept: the recording, the sitting and the name of the line."""

    recording: Recording
    session: str
    line: str

    def add(self, kind: Kind, data: bytes | None = None, **more: Any) -> Frame:
        """Keep one frame."""
        return self.recording.add(self.session, self.line, kind, data, **more)


class Outgoing(NamedTuple):
    """One thing to send."""

    data: bytes
    tag: str
    # Ids whose answers are waited for; empty where no answer is due, None where it has no id
    # that could be read, so that an answer would have none either.
    ids: tuple[Any, ...] | None = ()
    # How long to wait, in seconds.
    timeout: float = 5.0
    # Return as soon as something came, and go on listening: the stream of a subscription.
    holds: bool = False
    # HTTP only.
    verb: str = "POST"
    headers: Mapping[str, str] = {}
    # Another URL than the endpoint.
    url: str | None = None
    # Set when there is no point in waiting any longer.
    hurry: asyncio.Event | None = None
    # How long a body may be that is no stream.
    limit: int = 64 * 1024 * 1024


class Line(ABC):
    """One connection to a server."""

    def __init__(self, place: Place) -> None:
        self.place = place
        # Takes what the server asks; set by whoever talks over the line.
        self.asked: Asked | None = None

    @abstractmethod
    async def open(self) -> None:
        """Get ready; raises LineError."""

    @abstractmethod
    async def send(self, outgoing: Outgoing) -> Exchange:
        """Send something and wait for what is due. Never raises for what the server does."""

    @abstractmethod
    async def close(self) -> None:
        """End it, and whatever was started for it."""

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether anything can be sent."""

    async def wait(self, done: asyncio.Event, outgoing: Outgoing) -> bool:
        """Whether it was done in time."""
        waits = [asyncio.ensure_future(done.wait())]
        if outgoing.hurry is not None:
            waits.append(asyncio.ensure_future(outgoing.hurry.wait()))
        await asyncio.wait(waits, timeout=outgoing.timeout, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        return done.is_set()

    async def linger(self, seconds: float) -> None:
        """Keep listening for a while."""
        await asyncio.sleep(seconds)
