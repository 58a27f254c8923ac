from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from dovetail_check.exchanges import Exchange
from dovetail_check.frames import Frame
from dovetail_check.lines.http_line import HttpLine
from dovetail_check.lines.line import LineError, Outgoing, Place
from dovetail_check.recording import Recording
from tests.check.unit.lines.scripted_server import OK, STREAM, Peer, Serve, drive, event
from tests.unit.client.test_http_connection import certificate as certificate

PING = Outgoing(b'{"jsonrpc":"2.0","id":1,"method":"ping"}', "ping", (1,), timeout=2.0)
PONG = b'{"jsonrpc":"2.0","id":1,"result":{}}'


def whole(body: bytes) -> bytes:
    return OK + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def says(*parts: bytes) -> Serve:
    async def serve(peer: Peer) -> None:
        await peer.read_body()
        for part in parts:
            await peer.say(part)

    return serve


def ask(serve: Serve, outgoing: Outgoing = PING) -> tuple[Exchange, list[Frame]]:
    found: list[Exchange] = []

    async def work(line: HttpLine) -> None:
        found.append(await line.send(outgoing))

    frames = drive(serve, work)
    return found[0], frames


def kinds(frames: list[Frame]) -> list[str]:
    return [frame.kind for frame in frames]


@pytest.mark.parametrize(
    "said",
    [
        whole(PONG),
        OK
        + b"Transfer-Encoding: chunked\r\n\r\n10\r\n"
        + PONG[:16]
        + b"\r\n14\r\n"
        + PONG[16:]
        + b"\r\n0\r\n\r\n",
        OK + b"Connection: close\r\n\r\n" + PONG,
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
        + whole(PONG),
    ],
    ids=["length", "chunked", "until-close", "after-1xx"],
)
def test_a_response_is_read_however_it_is_framed(said: bytes) -> None:
    exchange, frames = ask(says(said))
    assert exchange.status == 200
    assert exchange.result == {}
    assert kinds(frames) == ["started", "sent", "received", "ended"]


def test_a_request_goes_out_as_it_is_given() -> None:
    seen: list[bytes] = []

    async def serve(peer: Peer) -> None:
        seen.append(peer.head + await peer.read_body())
        await peer.say(whole(PONG))

    headers = {"host": "elsewhere", "X-Odd": "\u017elu\u0165"}
    ask(serve, PING._replace(headers=headers))
    assert b"\r\nhost: elsewhere\r\n" in seen[0]
    assert b"Host: 127" not in seen[0]
    assert "X-Odd: \u017elu\u0165\r\n".encode() in seen[0]
    assert seen[0].endswith(b"\r\n\r\n" + PING.data)


def test_an_answer_may_come_before_the_request_was_read() -> None:
    async def serve(peer: Peer) -> None:
        await peer.say(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await peer.wait_until_gone()

    exchange, _ = ask(serve, PING._replace(data=b"x" * 5_000_000))
    assert exchange.status == 413


def test_head_has_no_body() -> None:
    exchange, _ = ask(says(OK + b"Content-Length: 36\r\n\r\n"), Outgoing(b"", "look", verb="HEAD"))
    assert exchange.status == 200
    assert exchange.failure is None


def test_a_connection_that_is_closed_without_a_word_has_failed() -> None:
    exchange, frames = ask(says())
    assert exchange.failure == "EOFError: the connection was closed without a response"
    assert kinds(frames) == ["started", "sent", "failed"]


def test_what_came_of_a_body_that_was_cut_short_is_kept() -> None:
    exchange, frames = ask(says(OK + b"Content-Length: 99\r\n\r\n{"))
    assert exchange.status == 200
    assert exchange.failure is not None
    assert kinds(frames) == ["started", "sent", "received", "failed"]
    assert frames[2].data == b"{"


def test_what_came_of_a_body_that_does_not_end_is_kept() -> None:
    async def serve(peer: Peer) -> None:
        await peer.say(OK + b"Content-Length: 99\r\n\r\n{")
        await peer.wait_until_gone()

    exchange, frames = ask(serve, PING._replace(timeout=0.2))
    assert exchange.status == 200
    assert exchange.is_silent is False or exchange.heard == []
    assert kinds(frames)[2] == "received"
    assert kinds(frames)[-1] in ("silence", "closed")


def test_what_is_no_http_has_failed() -> None:
    exchange, _ = ask(says(b"SSH-2.0-OpenSSH_9\r\n\r\n"))
    assert exchange.failure is not None
    assert exchange.failure.startswith("RemoteProtocolError")


def test_a_change_of_protocol_ends_the_response() -> None:
    said = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"
    exchange, _ = ask(says(said, b"whatever"), PING._replace(timeout=1.0))
    assert exchange.result is None


def test_silence_is_kept_and_the_connection_closed() -> None:
    gone = asyncio.Event()

    async def serve(peer: Peer) -> None:
        await peer.read_body()
        await peer.wait_until_gone()
        gone.set()

    async def work(line: HttpLine) -> None:
        exchange = await line.send(PING._replace(timeout=0.1))
        assert exchange.is_silent
        await gone.wait()

    assert kinds(drive(serve, work)) == ["started", "sent", "silence"]


def test_events_are_kept_one_by_one() -> None:
    said = (
        event(b"", b"id: 1\n")
        + b": a comment\n\nretry: 300\n\n"
        + event(b'{"jsonrpc":"2.0","method":"notifications/progress"}', b"event: message\n")
        + event(PONG, b"id: 2\r\n")
    )
    exchange, frames = ask(says(STREAM, said[:30], said[30:]))
    events = [frame for frame in frames if frame.kind == "event"]
    assert [(one.event_id, one.retry, bool(one.data)) for one in events] == [
        ("1", None, False),
        (None, 300, False),
        (None, None, True),
        ("2", None, True),
    ]
    assert exchange.result == {}
    assert exchange.is_stream
    assert frames[-1].kind == "ended"


@pytest.mark.slow
def test_a_stream_that_stays_after_its_answer_is_hung_up_in_the_end() -> None:
    async def serve(peer: Peer) -> None:
        await peer.read_body()
        await peer.say(STREAM + event(PONG))
        await peer.wait_until_gone()

    _, frames = ask(serve)
    assert kinds(frames) == ["started", "sent", "received", "event", "closed"]
    assert frames[-1].at - frames[-2].at > 1.8


def test_a_stream_that_is_held_goes_on_until_it_is_hung_up() -> None:
    gone, more = asyncio.Event(), asyncio.Event()

    async def serve(peer: Peer) -> None:
        await peer.say(STREAM)
        await more.wait()
        await peer.say(event(b'{"jsonrpc":"2.0","id":"q","method":"a"}'))
        await peer.wait_until_gone()
        gone.set()

    async def work(line: HttpLine) -> None:
        outgoing = Outgoing(b"", "listen", verb="GET", holds=True)
        exchange = await line.send(outgoing)
        assert exchange.status == 200
        assert exchange.heard == []
        asked = asyncio.Event()
        line.asked = lambda message: asked.set()
        more.set()
        await asked.wait()
        await line.hang_up(exchange)
        await gone.wait()
        # Twice is once.
        await line.hang_up(exchange)

    frames = drive(serve, work)
    assert kinds(frames) == ["started", "sent", "received", "event", "closed"]


def test_what_the_server_asks_on_a_stream_is_answered_in_the_same_session() -> None:
    heads: list[bytes] = []
    answered = asyncio.Event()

    async def serve(peer: Peer) -> None:
        heads.append(peer.head)
        if b"roots" in await peer.read_body():
            await peer.say(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
            answered.set()
            return
        await peer.say(STREAM + event(b'{"jsonrpc":"2.0","id":"q","method":"roots/list"}'))
        await answered.wait()
        await peer.say(event(PONG))

    async def work(line: HttpLine) -> None:
        line.asked = lambda message: b'{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}'
        exchange = await line.send(PING._replace(headers={"Mcp-Session-Id": "s1"}))
        assert exchange.result == {}

    frames = drive(serve, work)
    assert b"Mcp-Session-Id: s1" in heads[1]
    assert [frame.tag for frame in frames if frame.kind == "sent"] == ["ping", "answer"]


def test_a_url_where_nobody_listens_is_no_line() -> None:
    async def main() -> None:
        listener = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        listener.close()
        await listener.wait_closed()
        line = HttpLine(Place(Recording(), "http test", "main"), f"http://127.0.0.1:{port}/")
        with pytest.raises(LineError, match="cannot be reached"):
            await line.open()

    asyncio.run(main())


def test_a_url_that_is_none_is_no_line() -> None:
    async def main() -> None:
        line = HttpLine(Place(Recording(), "http test", "main"), "http://localhost:port/")
        with pytest.raises(LineError, match="cannot be reached"):
            await line.open()

    asyncio.run(main())


@pytest.mark.parametrize("is_trusted", [True, False])
def test_tls_wants_a_certificate_it_can_trust(
    certificate: Path, is_trusted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    found: list[Exchange] = []

    async def work(line: HttpLine) -> None:
        found.append(await line.send(PING))

    if is_trusted:
        drive(says(whole(PONG)), work, context=context)
        assert found[0].result == {}
    else:
        with pytest.raises(LineError, match="certificate"):
            drive(says(whole(PONG)), work, context=context)
