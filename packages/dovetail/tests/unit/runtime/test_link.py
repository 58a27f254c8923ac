"""Links that need no transport: what they send, and what they drop."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from dovetail import Server
from dovetail.core.changes import ChangeEvent
from dovetail.core.link import ClientChannels
from dovetail.runtime.link import NULL_LINK, CallbackLink, NullLink, RequestLink, ResponseOnlyLink
from dovetail.spec.models import InitializeParams
from dovetail.spec.revisions import LATEST_LEGACY
from dovetail.wire import codec
from dovetail.wire.messages import Notification
from tests.unit.fakes import settle
from tests.unit.talk import run

HELLO = codec.decode_as(
    InitializeParams,
    b'{"protocolVersion":"x","capabilities":{},"clientInfo":{"name":"c","version":"1"}}',
)


class Stream:
    """A listen stream that announces every change."""

    uris: tuple[str, ...] = ()
    id = b"1"

    def __init__(self) -> None:
        self.is_ended = False

    def wants(self, change: ChangeEvent) -> bool:
        return True

    def announce(self, change: ChangeEvent) -> Notification | None:
        return Notification(change.what.value) if change.uri is None else None

    def cancellation(self, reason: str) -> Notification:
        return Notification("notifications/cancelled")

    def end(self) -> None:
        self.is_ended = True


def test_a_null_link_drops_everything_and_ends_streams_at_once() -> None:
    async def scenario() -> None:
        link = NullLink()
        link.send(Notification("a"))
        link.send_unrelated(Notification("a"))
        link.disconnect(10)
        link.start_session(LATEST_LEGACY, HELLO)
        await link.drain()
        assert link.session is None
        stream = Stream()
        link.open_stream(stream)
        assert stream.is_ended
        link.close_stream(stream)
        assert link.after_response() is NULL_LINK

    run(scenario())


def test_a_response_only_link_says_what_its_client_lacks() -> None:
    channels = ClientChannels(changes=False, messages=True)
    assert ResponseOnlyLink(channels=channels).channels == channels


def test_a_stream_of_one_request_hears_of_changes_until_it_is_closed() -> None:
    async def scenario() -> None:
        server = Server("s")
        sent: list[Any] = []
        link = CallbackLink(server.engine, None, lambda data: sent.append(json.loads(data)))
        stream = Stream()
        link.open_stream(stream)
        server.tools.add(lambda: "x", name="x")
        server.resource_updated("a://b")
        await settle()
        assert [message["method"] for message in sent] == ["notifications/tools/list_changed"]
        link.end()
        assert stream.is_ended
        link.close_stream(stream)
        server.tools.add(lambda: "y", name="y")
        await settle()
        assert len(sent) == 1
        # Without a stream there is nothing to end.
        RequestLink(server.engine).end()

    run(scenario())


def test_a_callback_gets_messages_in_order_also_from_threads_and_if_it_waits() -> None:
    async def scenario() -> None:
        gate = asyncio.Event()
        sent: list[str] = []

        async def send(data: bytes) -> None:
            await gate.wait()
            sent.append(json.loads(data)["method"])

        link = CallbackLink(Server("s").engine, None, send)
        await link.drain()
        link.send(Notification("a"))
        await asyncio.to_thread(link.send, Notification("b"))
        await settle()
        assert sent == []
        gate.set()
        await link.drain()
        assert sent == ["a", "b"]

    run(scenario())
