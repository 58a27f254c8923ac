from __future__ import annotations

import asyncio

import pytest

from dovetail.wire import codec
from dovetail_check.connections.base import Outgoing, UnreachableError
from dovetail_check.connections.old_sse import OldSseConnection
from dovetail_check.exchanges import Exchange
from tests.check.unit.connections.scripted_server import STREAM, Peer, Serve, drive, event
from tests.patience import CAP

ACCEPTED = b"HTTP/1.1 202 Accepted\r\nContent-Length: 8\r\n\r\nAccepted"
REFUSED = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"


def request(id: object) -> Outgoing:
    message = codec.encode({"jsonrpc": "2.0", "id": id, "method": "ping"})
    return Outgoing(message, "ping", (id,), timeout=CAP)


class OldServer:
    """Replies on the stream to each POST, unless a test replaces the reply."""

    def __init__(self, endpoint: bytes = b"messages?session=1", post: bytes = ACCEPTED) -> None:
        self.endpoint = endpoint
        self.post = post
        self.targets: list[bytes] = []
        self.bodies: list[bytes] = []
        self.stream: Peer | None = None
        self.over = asyncio.Event()

    async def __call__(self, peer: Peer) -> None:
        if peer.head.startswith(b"GET"):
            self.stream = peer
            await peer.say(STREAM + event(self.endpoint, b"event: endpoint\n"))
            await self.over.wait()
            return
        self.targets.append(peer.head.split(b" ")[1])
        self.bodies.append(await peer.read_body())
        await self.answer(self.bodies[-1])
        await peer.say(self.post)

    async def answer(self, body: bytes) -> None:
        message = codec.decode_json(body)
        if self.stream is not None and "method" in message and self.post is ACCEPTED:
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": {}}
            await self.stream.say(event(codec.encode(reply), b"event: message\n"))


def client(serve: Serve, *ids: object) -> list[Exchange]:
    found: list[Exchange] = []

    async def work(connection: object) -> None:
        assert isinstance(connection, OldSseConnection)
        assert connection.is_open
        found.extend(await asyncio.gather(*(connection.send(request(id)) for id in ids)))

    drive(serve, work, make=OldSseConnection)
    return found


def test_responses_on_the_stream_are_matched_to_posts() -> None:
    server = OldServer()
    found = client(server, 1, "two", 3)
    ids = [one.answer and one.answer.message["id"] for one in found]
    assert ids == [1, "two", 3]
    assert [one.status for one in found] == [202, 202, 202]
    # The word that came with 202 is no message.
    assert [len(one.incoming) for one in found] == [1, 1, 1]
    assert server.targets == [b"/messages?session=1"] * 3


@pytest.mark.parametrize("named", [b"http://127.0.0.1:1/messages", b"http://[", b"file:///x"])
def test_an_endpoint_of_another_origin_is_not_used(named: bytes) -> None:
    server = OldServer(named)
    with pytest.raises(UnreachableError, match="has a different origin"):
        client(server, 1)
    assert server.targets == []


def test_a_rejected_post_is_not_waited_for() -> None:
    [exchange] = client(OldServer(post=REFUSED), 1)
    assert exchange.status == 400
    assert not exchange.is_silent


def test_pending_requests_fail_at_the_end_of_the_stream() -> None:
    class Ending(OldServer):
        async def answer(self, body: bytes) -> None:
            self.over.set()

    [exchange] = client(Ending(), 1)
    assert exchange.failure == "the stream has ended"


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        STREAM + event(b"{}", b"event: message\n"),
        STREAM,
    ],
    ids=["no-stream", "another-event", "no-event"],
)
def test_a_url_without_an_endpoint_event_is_unreachable(sent: bytes) -> None:
    async def serve(peer: Peer) -> None:
        await peer.say(sent)

    with pytest.raises(UnreachableError, match="no usable 'endpoint' event"):
        client(serve, 1)


def test_requests_of_the_server_are_answered_by_post() -> None:
    class Asking(OldServer):
        async def answer(self, body: bytes) -> None:
            assert self.stream is not None
            if b"roots" in body:
                await super().answer(self.bodies[0])
            else:
                asked = b'{"jsonrpc":"2.0","id":"q","method":"roots/list"}'
                await self.stream.say(event(asked, b"event: message\n"))

    server = Asking()

    async def work(connection: object) -> None:
        assert isinstance(connection, OldSseConnection)
        connection.on_request = lambda message: b'{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}'
        exchange = await connection.send(request(1))
        assert exchange.result == {}

    drive(server, work, make=OldSseConnection)
    assert server.targets == [b"/messages?session=1"] * 2
