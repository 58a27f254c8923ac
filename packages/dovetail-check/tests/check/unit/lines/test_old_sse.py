from __future__ import annotations

import asyncio

import pytest

from dovetail.wire import codec
from dovetail_check.exchanges import Exchange
from dovetail_check.lines.line import LineError, Outgoing
from dovetail_check.lines.old_sse import OldSseLine
from tests.check.unit.lines.scripted_server import STREAM, Peer, Serve, drive, event

ACCEPTED = b"HTTP/1.1 202 Accepted\r\nContent-Length: 8\r\n\r\nAccepted"
REFUSED = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"


def request(id: object) -> Outgoing:
    message = codec.encode({"jsonrpc": "2.0", "id": id, "method": "ping"})
    return Outgoing(message, "ping", (id,), timeout=2.0)


class OldServer:
    """Answers on the stream what is posted, unless a test says otherwise."""

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

    async def work(line: object) -> None:
        assert isinstance(line, OldSseLine)
        assert line.is_open
        found.extend(await asyncio.gather(*(line.send(request(id)) for id in ids)))

    drive(serve, work, make=OldSseLine)
    return found


def test_answers_on_the_stream_belong_to_what_was_posted() -> None:
    server = OldServer()
    found = client(server, 1, "two", 3)
    ids = [one.answer and one.answer.message["id"] for one in found]
    assert ids == [1, "two", 3]
    assert [one.status for one in found] == [202, 202, 202]
    # The word that came with 202 is no message.
    assert [len(one.heard) for one in found] == [1, 1, 1]
    assert server.targets == [b"/messages?session=1"] * 3


@pytest.mark.parametrize("named", [b"http://127.0.0.1:1/messages", b"http://[", b"file:///x"])
def test_an_endpoint_of_another_origin_is_not_used(named: bytes) -> None:
    server = OldServer(named)
    with pytest.raises(LineError, match="is not of the same origin"):
        client(server, 1)
    assert server.targets == []


def test_a_post_that_is_refused_is_not_waited_for() -> None:
    [exchange] = client(OldServer(post=REFUSED), 1)
    assert exchange.status == 400
    assert not exchange.is_silent


def test_a_stream_that_ends_takes_its_answers_with_it() -> None:
    class Ending(OldServer):
        async def answer(self, body: bytes) -> None:
            self.over.set()

    [exchange] = client(Ending(), 1)
    assert exchange.failure == "the stream has ended"


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        STREAM + event(b"{}", b"event: message\n"),
        STREAM,
    ],
    ids=["no-stream", "another-event", "no-event"],
)
def test_a_url_without_an_endpoint_event_is_no_line(said: bytes) -> None:
    async def serve(peer: Peer) -> None:
        await peer.say(said)

    with pytest.raises(LineError, match="no event 'endpoint'"):
        client(serve, 1)


def test_what_the_server_asks_is_answered_by_post() -> None:
    class Asking(OldServer):
        async def answer(self, body: bytes) -> None:
            assert self.stream is not None
            if b"roots" in body:
                await super().answer(self.bodies[0])
            else:
                asked = b'{"jsonrpc":"2.0","id":"q","method":"roots/list"}'
                await self.stream.say(event(asked, b"event: message\n"))

    server = Asking()

    async def work(line: object) -> None:
        assert isinstance(line, OldSseLine)
        line.asked = lambda message: b'{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}'
        exchange = await line.send(request(1))
        assert exchange.result == {}

    drive(server, work, make=OldSseLine)
    assert server.targets == [b"/messages?session=1"] * 2
