"""HTTP/1.1 connections: URLs, connection reuse, TLS."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from pathlib import Path

import pytest

from dovetail.errors import PeerError, TransportError
from dovetail.net import http_pool
from dovetail.net.addresses import parse_url
from dovetail.net.http_pool import HttpPool
from tests.certificate import make_certificate
from tests.peers.scripted import run
from tests.unit.client.fake_http import Heard, Serve, Wire, fake_http


async def ok(heard: Heard, wire: Wire) -> None:
    await wire.respond(200, b"ok", "text/plain")


async def fetch(pool: HttpPool, method: str = "GET", body: bytes = b"") -> bytes:
    async with pool.exchange(method, [], body) as response:
        assert response.status == 200
        return await response.read(100)


def run_with(serve: Serve, times: int = 2) -> tuple[list[bytes], int]:
    async def use() -> tuple[list[bytes], int]:
        async with fake_http(serve) as fake:
            pool = HttpPool(parse_url(fake.url))
            try:
                return [await fetch(pool) for _ in range(times)], fake.connections
            finally:
                await pool.close()

    said: tuple[list[bytes], int] = run(use())
    return said


def test_a_connection_is_reused() -> None:
    assert run_with(ok, 3) == ([b"ok", b"ok", b"ok"], 1)


def test_a_server_may_close_the_connection_after_each_request() -> None:
    async def close(heard: Heard, wire: Wire) -> None:
        await wire.respond(200, b"ok", "text/plain", Connection="close")
        wire.hang_up()

    assert run_with(close) == ([b"ok", b"ok"], 2)


def test_a_body_may_end_with_its_connection() -> None:
    async def old(heard: Heard, wire: Wire) -> None:
        await wire.raw(b"HTTP/1.0 200 OK\r\n\r\nok")
        wire.hang_up()

    assert run_with(old) == ([b"ok", b"ok"], 2)


def test_informational_responses_are_skipped() -> None:
    async def early(heard: Heard, wire: Wire) -> None:
        await wire.raw(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        await ok(heard, wire)

    assert run_with(early) == ([b"ok", b"ok"], 1)


def test_a_connection_that_was_idle_for_long_is_not_reused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_pool, "_IDLE_SECONDS", 0.0)
    assert run_with(ok) == ([b"ok", b"ok"], 2)


def test_a_connection_with_extra_data_is_not_reused() -> None:
    async def twice(heard: Heard, wire: Wire) -> None:
        await wire.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n")

    assert run_with(twice) == ([b"ok", b"ok"], 2)


def test_a_closed_connection_is_reported() -> None:
    async def hang_up(heard: Heard, wire: Wire) -> None:
        wire.hang_up()

    with pytest.raises(TransportError, match=r"closed the connection without|broke"):
        run_with(hang_up)


def test_a_body_beyond_the_limit_is_rejected() -> None:
    async def long(heard: Heard, wire: Wire) -> None:
        await wire.respond(200, b"x" * 101)

    with pytest.raises(PeerError, match="limit of 100 bytes"):
        run_with(long)


def test_closing_the_pool_ends_running_requests() -> None:
    async def use() -> None:
        asked = asyncio.Event()

        async def silent(heard: Heard, wire: Wire) -> None:
            asked.set()
            await wire.gone()

        async with fake_http(silent) as fake:
            pool = HttpPool(parse_url(fake.url))
            waiting = asyncio.create_task(fetch(pool))
            await asked.wait()
            await pool.close()
            with pytest.raises(TransportError, match="closed the connection without a response"):
                await waiting
            with pytest.raises(TransportError, match="closed"):
                await fetch(pool)

    run(use())


def test_connecting_to_a_silent_host_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", never)
    monkeypatch.setattr(http_pool, "_CONNECT_SECONDS", 0.01)
    with pytest.raises(TransportError, match=r"Could not connect to http://host/ within 0.01 s"):
        run(fetch(HttpPool(parse_url("http://host/"))))


# -- TLS --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.mark.parametrize("is_trusted", [True, False])
def test_https_requires_a_trusted_certificate(
    certificate: Path, is_trusted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def use() -> bytes:
        async with fake_http(ok, context) as fake:
            pool = HttpPool(parse_url(fake.url))
            try:
                return await fetch(pool, "POST", b"{}")
            finally:
                await pool.close()

    if is_trusted:
        assert run(use()) == b"ok"
    else:
        with pytest.raises(TransportError, match="certificate is not trusted: self"):
            run(use())


@pytest.mark.parametrize(
    ("said", "why"), [(b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak TLS"), (b"", "")]
)
def test_https_to_a_plain_server_is_explained(said: bytes, why: str) -> None:
    async def use() -> None:
        is_over = asyncio.Event()

        async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # A connection that is closed before its bytes are read is reset, which may or may
            # not overtake what was written: read first.
            await reader.read(1000)
            writer.write(said)
            writer.write_eof()
            with contextlib.suppress(ConnectionError):
                await reader.read()
            writer.close()
            is_over.set()

        async with await asyncio.start_server(plain, "127.0.0.1", 0) as listener:
            port = listener.sockets[0].getsockname()[1]
            pool = HttpPool(parse_url(f"https://127.0.0.1:{port}/"))
            try:
                await fetch(pool)
            finally:
                await pool.close()
                await is_over.wait()

    with pytest.raises(TransportError, match=rf"Could not connect to https://127\.0\.0\.1.*{why}"):
        run(use())
