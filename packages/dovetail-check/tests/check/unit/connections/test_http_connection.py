from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from dovetail_check.connections.base import Outgoing, Recorder, UnreachableError
from dovetail_check.connections.http_connection import HttpConnection
from dovetail_check.exchanges import Exchange
from dovetail_check.frames import Frame
from dovetail_check.recording import Recording
from tests.check.unit.connections.scripted_server import OK, STREAM, Peer, Serve, drive, event
from tests.patience import CAP, pass_time
from tests.unit.net.test_http_connection import certificate as certificate

PING = Outgoing(b'{"jsonrpc":"2.0","id":1,"method":"ping"}', "ping", (1,), timeout=CAP)
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

    async def work(connection: HttpConnection) -> None:
        found.append(await connection.send(outgoing))

    frames = drive(serve, work)
    return found[0], frames


def kinds(frames: list[Frame]) -> list[str]:
    return [frame.kind for frame in frames]


@pytest.mark.parametrize(
    "sent",
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
def test_a_response_is_read_however_it_is_framed(sent: bytes) -> None:
    exchange, frames = ask(says(sent))
    assert exchange.status == 200
    assert exchange.result == {}
    assert kinds(frames) == ["started", "sent", "received", "ended"]


def test_a_request_is_sent_unchanged() -> None:
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


def test_a_response_may_arrive_before_the_request_is_read() -> None:
    async def serve(peer: Peer) -> None:
        await peer.say(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await peer.wait_until_gone()

    exchange, _ = ask(serve, PING._replace(data=b"x" * 5_000_000))
    assert exchange.status == 413


def test_head_has_no_body() -> None:
    exchange, _ = ask(says(OK + b"Content-Length: 36\r\n\r\n"), Outgoing(b"", "look", verb="HEAD"))
    assert exchange.status == 200
    assert exchange.failure is None


def test_a_connection_closed_without_a_response_has_failed() -> None:
    exchange, frames = ask(says())
    assert exchange.failure == "EOFError: the connection was closed without a response"
    assert kinds(frames) == ["started", "sent", "failed"]


def test_a_truncated_body_is_recorded() -> None:
    exchange, frames = ask(says(OK + b"Content-Length: 99\r\n\r\n{"))
    assert exchange.status == 200
    assert exchange.failure is not None
    assert kinds(frames) == ["started", "sent", "received", "failed"]
    assert frames[2].data == b"{"


def test_an_endless_body_is_recorded_up_to_the_timeout() -> None:
    async def serve(peer: Peer) -> None:
        await peer.say(OK + b"Content-Length: 99\r\n\r\n{")
        # Enough turns for the client to read it.
        for _ in range(20):
            await asyncio.sleep(0)
        pass_time(CAP / 2)
        await peer.wait_until_gone()

    exchange, frames = ask(serve, PING._replace(timeout=CAP / 2))
    assert exchange.status == 200
    assert exchange.is_silent is False or exchange.incoming == []
    assert kinds(frames)[2] == "received"
    assert kinds(frames)[-1] in ("silence", "closed")


def test_a_reply_that_is_not_http_has_failed() -> None:
    exchange, _ = ask(says(b"SSH-2.0-OpenSSH_9\r\n\r\n"))
    assert exchange.failure is not None
    assert exchange.failure.startswith("RemoteProtocolError")


def test_a_change_of_protocol_ends_the_response() -> None:
    sent = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"
    exchange, _ = ask(says(sent, b"whatever"), PING._replace(timeout=1.0))
    assert exchange.result is None


def test_silence_is_recorded_and_the_connection_closed() -> None:
    gone = asyncio.Event()

    async def serve(peer: Peer) -> None:
        await peer.read_body()
        pass_time(CAP / 2)
        await peer.wait_until_gone()
        gone.set()

    async def work(connection: HttpConnection) -> None:
        exchange = await connection.send(PING._replace(timeout=CAP / 2))
        assert exchange.is_silent
        await gone.wait()

    assert kinds(drive(serve, work)) == ["started", "sent", "silence"]


def test_events_are_recorded_one_by_one() -> None:
    sent = (
        event(b"", b"id: 1\n")
        + b": a comment\n\nretry: 300\n\n"
        + event(b'{"jsonrpc":"2.0","method":"notifications/progress"}', b"event: message\n")
        + event(PONG, b"id: 2\r\n")
    )
    exchange, frames = ask(says(STREAM, sent[:30], sent[30:]))
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
def test_a_stream_that_stays_open_after_its_response_is_closed() -> None:
    async def serve(peer: Peer) -> None:
        await peer.read_body()
        await peer.say(STREAM + event(PONG))
        await peer.wait_until_gone()

    _, frames = ask(serve)
    assert kinds(frames) == ["started", "sent", "received", "event", "closed"]
    assert frames[-1].at - frames[-2].at > 1.8


def test_a_kept_stream_is_read_until_it_is_closed() -> None:
    gone, more = asyncio.Event(), asyncio.Event()

    async def serve(peer: Peer) -> None:
        await peer.say(STREAM)
        await more.wait()
        await peer.say(event(b'{"jsonrpc":"2.0","id":"q","method":"a"}'))
        await peer.wait_until_gone()
        gone.set()

    async def work(connection: HttpConnection) -> None:
        outgoing = Outgoing(b"", "listen", verb="GET", keep_open=True)
        exchange = await connection.send(outgoing)
        assert exchange.status == 200
        assert exchange.incoming == []
        asked = asyncio.Event()
        connection.on_request = lambda message: asked.set()
        more.set()
        await asked.wait()
        await connection.close_response(exchange)
        await gone.wait()
        # Twice is once.
        await connection.close_response(exchange)

    frames = drive(serve, work)
    assert kinds(frames) == ["started", "sent", "received", "event", "closed"]


def test_requests_of_the_server_are_answered_in_the_same_session() -> None:
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

    async def work(connection: HttpConnection) -> None:
        connection.on_request = lambda message: b'{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}'
        exchange = await connection.send(PING._replace(headers={"Mcp-Session-Id": "s1"}))
        assert exchange.result == {}

    frames = drive(serve, work)
    assert b"Mcp-Session-Id: s1" in heads[1]
    assert [frame.tag for frame in frames if frame.kind == "sent"] == ["ping", "answer"]


def test_a_url_without_a_listener_is_unreachable() -> None:
    async def main() -> None:
        listener = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        listener.close()
        await listener.wait_closed()
        connection = HttpConnection(
            Recorder(Recording(), "http test", "main"), f"http://127.0.0.1:{port}/"
        )
        with pytest.raises(UnreachableError, match="cannot be reached"):
            await connection.open()

    asyncio.run(main())


def test_an_invalid_url_is_unreachable() -> None:
    async def main() -> None:
        connection = HttpConnection(
            Recorder(Recording(), "http test", "main"), "http://localhost:port/"
        )
        with pytest.raises(UnreachableError, match="cannot be reached"):
            await connection.open()

    asyncio.run(main())


@pytest.mark.parametrize("is_trusted", [True, False])
def test_tls_requires_a_trusted_certificate(
    certificate: Path, is_trusted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    found: list[Exchange] = []

    async def work(connection: HttpConnection) -> None:
        found.append(await connection.send(PING))

    if is_trusted:
        drive(says(whole(PONG)), work, context=context)
        assert found[0].result == {}
    else:
        with pytest.raises(UnreachableError, match="certificate"):
            drive(says(whole(PONG)), work, context=context)
