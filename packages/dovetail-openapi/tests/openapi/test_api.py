"""The API: its host alone is called, and its responses have limits."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from dovetail import Server
from dovetail.errors import UsageError
from tests.openapi.backend import Backend, call, get


def redirect(to: str, status: int = 302) -> Any:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/moved":
            return httpx.Response(status, headers={"location": to})
        return httpx.Response(200, text=f"at {request.url.path}")

    return answer


@pytest.mark.parametrize(
    "to", ["https://evil.example/v1/x", "http://api.example.com/v1/x", "//evil.example/x"]
)
def test_a_redirect_to_another_origin_is_not_followed(to: str) -> None:
    backend = Backend(redirect(to))
    client = backend.client(follow_redirects=True)
    result = call(Server.from_openapi(get("/moved"), client=client), "get")
    assert result.is_error
    assert "another host" in result.text
    assert len(backend.seen) == 1


def test_a_redirect_on_the_same_host_is_followed() -> None:
    backend = Backend(redirect("/v1/new", 307))
    result = call(Server.from_openapi(get("/moved"), client=backend.client()), "get")
    assert result.text == "at /v1/new"


def test_endless_redirects_end() -> None:
    backend = Backend(redirect("/v1/moved"))
    result = call(Server.from_openapi(get("/moved"), client=backend.client()), "get")
    assert "redirects more than 5 times" in result.text


def test_a_response_that_is_too_large_is_refused() -> None:
    backend = Backend(lambda request: httpx.Response(200, text="x" * 2000))
    spec = get("/a")
    server = Server.from_openapi(spec, client=backend.client(), max_response_bytes=1000)
    result = call(server, "get")
    assert result.is_error
    assert "more than 1,000 bytes; ask for less" in result.text


class Pieces(httpx.AsyncByteStream):
    """A body that arrives in two pieces."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body[:40]
        yield self._body[40:]


@pytest.mark.parametrize(
    ("encoding", "body", "text"),
    [
        ("gzip", gzip.compress(b"x" * 500 + b"end"), "x" * 500 + "end"),
        ("deflate", zlib.compress(bytes(range(65, 90)) * 20), "ABCDEFGHIJKLMNOPQRSTUVWXY" * 20),
        ("identity", b"x" * 100, "x" * 100),
        # A megabyte of compressed zeros stands for a gigabyte.
        ("gzip", gzip.compress(b"0" * 10_000_000), "more than 1,000 bytes"),
        ("gzip", b"no gzip at all, just text" * 3, "is not valid gzip"),
        ("br", b"\x00" * 50, "the encoding 'br', which is not read"),
    ],
    # Not the bodies: compressed ones contain the time.
    ids=["gzip", "deflate", "identity", "too large", "invalid", "unknown"],
)
def test_compressed_responses(encoding: str, body: bytes, text: str) -> None:
    headers = {"content-encoding": encoding, "content-type": "text/plain"}
    backend = Backend(lambda request: httpx.Response(200, headers=headers, stream=Pieces(body)))
    server = Server.from_openapi(get("/a"), client=backend.client(), max_response_bytes=1000)
    result = call(server, "get")
    assert text in result.text
    assert result.is_error is (result.text != text)
    assert backend.seen[0].headers["accept-encoding"] == "gzip, deflate"


def test_a_slow_api_ends_with_a_timeout() -> None:
    async def never(request: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    client = httpx.AsyncClient(base_url="https://a.example", transport=httpx.MockTransport(never))
    result = call(Server.from_openapi(get("/a"), client=client, timeout=0.01), "get")
    assert result.is_error
    assert result.text == "GET /a: no complete response in 0.01 seconds"


def test_a_failed_connection_does_not_show_the_url() -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError(f"cannot connect to {request.url}")

    backend = Backend(fail)
    spec = get("/a", security=[{"k": []}])
    scheme = {"type": "apiKey", "in": "query", "name": "key"}
    spec["components"] = {"securitySchemes": {"k": scheme}}
    server = Server.from_openapi(spec, client=backend.client(), credentials={"k": "SECRET"})
    result = call(server, "get")
    assert result.text == "GET /a: the request to api.example.com failed (ConnectError)"


@pytest.mark.parametrize(
    ("servers", "problem"),
    [
        ([], "#/paths/~1a/get: the URL of the server is ''"),
        ([{"url": "/v1"}], "#/servers/0: the URL of the server is '/v1', which has no host"),
        ([{"url": "file:///etc"}], "#/servers/0: .*no host"),
    ],
)
def test_a_server_without_a_host_needs_a_base_url(servers: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem + r".*base_url"):
        Server.from_openapi({**get("/a"), "servers": servers})


def test_the_servers_of_the_document_are_used_without_a_base_url() -> None:
    server = {"url": "https://{region}.a.example/v2/", "variables": {"region": {"default": "eu"}}}
    backend = Backend()
    spec = {**get("/a"), "servers": [server]}
    call(Server.from_openapi(spec, client=backend.client(base_url="")), "get")
    assert (backend.hosts, backend.seen[0].path) == (["eu.a.example"], "/v2/a")
