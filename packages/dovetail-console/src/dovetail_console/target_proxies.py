"""`dovetail console TARGET`: a server of anybody behind proxies, one for each revision.

The page talks to a proxy at the revision that it has chosen, and the proxy to the target at the
same one. A proxy connects when it is used first.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dovetail.client.channel import Channel, OnClosed, OnMessage
from dovetail.client.targets import Target
from dovetail.errors import TransportError
from dovetail.spec.revisions import REVISIONS
from dovetail.wire import codec
from dovetail.wire.messages import Incoming, Request
from dovetail_console.traffic import Traffic, classify
from dovetail_gateway import Proxy

if TYPE_CHECKING:
    from dovetail.client.http_auth import Auth

__all__ = ["PATH", "RecordedChannel", "TargetAccess", "WatchedProxy", "make_proxies"]

PATH = "/mcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetAccess:
    """How the target is reached; the fields are arguments of `Client`."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    auth: Auth | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None


def make_proxies(
    target: Target, access: TargetAccess, traffic: Traffic, name: str | None = None
) -> dict[str, WatchedProxy]:
    """Path -> proxy: one that negotiates the revision, and one for each revision."""
    modes = {PATH: "auto"} | {f"{PATH}/{each.date}": each.date for each in REVISIONS}
    return {
        path: WatchedProxy(
            target,
            traffic,
            name=name,
            mode=mode,
            headers=access.headers,
            auth=access.auth,
            env=access.env,
            cwd=access.cwd,
        )
        for path, mode in modes.items()
    }


class WatchedProxy(Proxy):
    """A proxy whose messages to and from the target are recorded."""

    def __init__(self, target: Target, traffic: Traffic, **options: Any) -> None:
        # The constructor opens a channel to test the target.
        self._traffic = traffic
        super().__init__(target, **options)

    def open_channel(self, target: Target, **options: Any) -> Channel:
        """Return a channel that records its messages."""
        return RecordedChannel(super().open_channel(target, **options), self._traffic)


class RecordedChannel(Channel):
    """A channel whose messages are recorded."""

    def __init__(self, inner: Channel, traffic: Traffic) -> None:
        self._inner = inner
        self._traffic = traffic
        self._stream = ""
        # The requests without a response yet: id -> when it was sent.
        self._sent: dict[str, float] = {}
        self.transport: str = inner.transport
        self.address: tuple[str, int] | None = inner.address
        self.waits_for_response: bool = inner.waits_for_response

    async def open(self, on_message: OnMessage, on_closed: OnClosed) -> None:
        """Connect to the server; raises TransportError if that fails."""
        self._stream = self._traffic.next_stream("target-")

        def received(data: bytes, message: Incoming | None = None, /) -> None:
            self._record("in", data)
            on_message(data, message)

        def closed(error: TransportError) -> None:
            self._record("in", f"[{error}]".encode())
            on_closed(error)

        await self._inner.open(received, closed)

    async def send(self, data: bytes) -> None:
        """Send one message."""
        self._record("out", data)
        await self._inner.send(data)

    async def send_request(self, request: Request, params: Mapping[str, Any] | None) -> None:
        """Send a request."""
        self._record("out", codec.encode_message(request))
        await self._inner.send_request(request, params)

    async def close(self) -> None:
        """Close the connection."""
        await self._inner.close()

    def _record(self, direction: str, data: bytes) -> None:
        text = data.decode(errors="replace")
        kind, _, id = classify(text)
        ms: float | None = None
        if direction == "out" and kind == "request":
            self._sent[str(id)] = time.monotonic()
        elif kind in ("response", "error"):
            began = self._sent.pop(str(id), None)
            ms = None if began is None else round((time.monotonic() - began) * 1000, 3)
        self._traffic.add(self._stream, direction, text, ms=ms)
