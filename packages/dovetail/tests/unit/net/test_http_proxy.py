"""Connections through the proxy that the environment names."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dovetail.errors import TransportError
from dovetail.net import http_pool
from dovetail.net.addresses import parse_url
from dovetail.net.http_pool import find_proxy
from dovetail.oauth.fetch import fetch_json
from tests.certificate import make_certificate
from tests.peers.scripted import run


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("https://issuer.example/x", "http://proxy.example:3128"),
        ("https://inside.example/x", None),
        ("http://issuer.example/x", None),
        ("https://localhost/x", None),
        ("https://[::1]/x", None),
    ],
)
def test_https_goes_through_the_proxy_except_to_this_machine(
    url: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inside.example")
    assert find_proxy(parse_url(url)) == proxy


@contextlib.asynccontextmanager
async def serving(certificate: Path, status: bytes, heads: list[bytes]) -> AsyncIterator[int]:
    """A proxy that is the server as well: it answers CONNECT, then speaks TLS itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 %b\r\n\r\n" % status)
            if status.startswith(b"200"):
                await writer.start_tls(context)
                heads.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{"a":1}')
                await reader.read()
        writer.close()

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize("status", [b"200 Connection established", b"407 Who are you", b""])
def test_a_tunnel_carries_the_request(
    status: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setattr(http_pool, "is_loopback", lambda host: False)

    async def use() -> None:
        heads: list[bytes] = []
        async with serving(certificate, status, heads) as port:
            monkeypatch.setenv("https_proxy", f"http://ada:p%40ss@127.0.0.1:{port}")
            monkeypatch.setenv("no_proxy", "")
            if status.startswith(b"200"):
                assert await fetch_json("https://127.0.0.1:9/keys") == {"a": 1}
                assert heads[1].startswith(b"GET /keys HTTP/1.1\r\nHost: 127.0.0.1:9\r\n")
                assert b"Proxy-Authorization" not in heads[1]
            else:
                with pytest.raises(TransportError, match=r"proxy 127\.0\.0\.1 does not connect"):
                    await fetch_json("https://127.0.0.1:9/keys")
        assert heads[0].startswith(b"CONNECT 127.0.0.1:9 HTTP/1.1\r\nHost: 127.0.0.1:9\r\n")
        assert b"Proxy-Authorization: Basic YWRhOnBAc3M=\r\n" in heads[0]

    run(use())


@pytest.mark.parametrize("proxy", ["http://", "http://proxy:port", "http://[x"])
def test_an_invalid_proxy_is_reported(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(TransportError, match="is not a valid URL"):
        run(fetch_json("https://issuer.example/keys"))
