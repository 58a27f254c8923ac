"""Negotiation of the era over HTTP."""

from __future__ import annotations

import socket

import pytest

from dovetail.client import Client
from dovetail.errors import PeerError, TransportError
from tests.patience import CAP
from tests.peers.scripted import DISCOVERED, run
from tests.unit.client.fake_http import Heard, Serve, Wire, fake_http, legacy, modern
from tests.unit.client.real_http import serving_peer

JSON = "application/json"
SSE = "text/event-stream"
TOOL = {"content": [{"type": "text", "text": "done"}], "resultType": "complete"}


async def done(heard: Heard, wire: Wire) -> None:
    await wire.result(heard, TOOL)


def call_once(serve: Serve, mode: str = "auto") -> tuple[str, list[Heard]]:
    async def use() -> tuple[str, list[Heard]]:
        async with fake_http(serve) as fake:
            async with Client(fake.url, mode=mode, timeout=CAP) as client:
                text = (await client.call("work")).text
            return text, fake.heard

    said: tuple[str, list[Heard]] = run(use())
    return said


def _before(app: str) -> str:
    return f"as_before_the_modern_era({app})"


async def _unsupported(heard: Heard, wire: Wire) -> None:
    await wire.error(heard, 400, -32022, data={"supported": ["2026-07-28"], "requested": "x"})


def test_a_modern_error_in_an_error_response_keeps_the_client_modern() -> None:
    tries: list[str] = []

    async def discover(heard: Heard, wire: Wire) -> None:
        tries.append(heard.method)
        await (_unsupported(heard, wire) if len(tries) == 1 else wire.result(heard, DISCOVERED))

    text, heard = call_once(modern({"server/discover": discover, "tools/call": done}), "auto")
    assert text == "done"
    assert "initialize" not in [one.method for one in heard]


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, b"", ""),
        (400, b"Bad Request: Missing session ID", "text/plain"),
        (400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}', JSON),
        (400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}', JSON),
        (400, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}', JSON),
        (404, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}', JSON),
        (404, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no"}}', JSON),
        (400, b'{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":""}}', JSON),
        (404, b"Not Found", "text/html"),
        (415, b"", ""),
        (422, b'{"detail":"what?"}', JSON),
        (405, b"", ""),
        (406, b"", ""),
        (500, b"oops", "text/plain"),
        (200, b"<html>", "text/html"),
        (200, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}', JSON),
        (200, b'data: {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}\n\n', SSE),
        (202, b"", ""),
        (200, b"{", JSON),
    ],
)  # fmt: skip
def test_any_other_response_means_legacy(status: int, body: bytes, kind: str) -> None:
    async def discover(heard: Heard, wire: Wire) -> None:
        await wire.respond(status, body, kind)

    text, heard = call_once(legacy({"server/discover": discover, "tools/call": done}), "auto")
    assert text == "done"
    assert [one.method for one in heard[:2]] == ["server/discover", "initialize"]


def test_a_server_that_disconnects_on_the_probe_is_treated_as_legacy() -> None:
    async def discover(heard: Heard, wire: Wire) -> None:
        wire.hang_up()

    assert call_once(legacy({"server/discover": discover, "tools/call": done}), "auto")[0] == "done"


@pytest.mark.parametrize("mode", ["auto", "modern", "legacy"])
@pytest.mark.parametrize("status", [401, 403])
def test_denied_access_is_explained(mode: str, status: int) -> None:
    async def serve(heard: Heard, wire: Wire) -> None:
        await wire.respond(status, b"Token expired", "text/plain", WWW_Authenticate="Bearer x=1")

    async def use() -> int:
        async with fake_http(serve) as fake:
            with pytest.raises(TransportError, match=rf"denies access: {status}.*Bearer x=1") as e:
                async with Client(fake.url, mode=mode):
                    pass
            assert "Token expired" in str(e.value)
            return len(fake.heard)

    assert run(use()) == 1


@pytest.mark.parametrize("mode", ["auto", "modern", "legacy"])
def test_a_refused_connection_is_reported(mode: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    async def use() -> None:
        async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode):
            pass

    with pytest.raises(TransportError, match=rf"127.0.0.1:{port}/mcp: connection refused"):
        run(use())


@pytest.mark.parametrize("code", [-32020, -32021])
def test_a_modern_server_that_rejects_the_probe_is_not_treated_as_legacy(code: int) -> None:
    async def discover(heard: Heard, wire: Wire) -> None:
        await wire.error(heard, 400, code)

    async def use() -> list[str]:
        async with fake_http(legacy({"server/discover": discover})) as fake:
            with pytest.raises(PeerError, match="supports the modern protocol but rejects"):
                async with Client(fake.url):
                    pass
            return fake.methods()

    assert run(use()) == ["server/discover"]


def test_unsupported_versions_are_named() -> None:
    async def discover(heard: Heard, wire: Wire) -> None:
        await wire.error(heard, 400, -32022, data={"supported": ["2031-01-01"]})

    with pytest.raises(PeerError, match="the server supports 2031-01-01, this client 2024-11-05"):
        call_once(legacy({"server/discover": discover}))


def test_a_list_with_only_legacy_versions_leads_to_initialize() -> None:
    async def discover(heard: Heard, wire: Wire) -> None:
        await wire.error(heard, 400, -32022, data={"supported": ["2025-11-25"]})

    text, heard = call_once(legacy({"server/discover": discover, "tools/call": done}))
    assert text == "done"
    assert [one.method for one in heard[:2]] == ["server/discover", "initialize"]


@pytest.mark.parametrize("mode", ["auto", "modern", "legacy"])
def test_a_gateway_error_is_reported(mode: str) -> None:
    async def serve(heard: Heard, wire: Wire) -> None:
        page = b"<html><head><title>502 Bad Gateway</title></head><h1>nginx</h1></html>"
        await wire.respond(502, page, "text/html")

    with pytest.raises(TransportError, match=r"with 502 Bad Gateway: 502 Bad Gateway nginx$"):
        call_once(serve, mode)


# -- real servers ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "app", "revision"),
    [
        ("sdk_server", "server.streamable_http_app()", "2026-07-28"),
        ("sdk_server", _before("server.streamable_http_app()"), "2025-11-25"),
        ("sdk_server", _before("server.streamable_http_app(stateless_http=True)"), "2025-11-25"),
        ("sdk_server", _before("server.streamable_http_app(json_response=True)"), "2025-11-25"),
        ("fastmcp_server", "server.http_app()", "2026-07-28"),
        ("fastmcp_server", _before("server.http_app()"), "2025-11-25"),
        ("fastmcp_server", _before("server.http_app(stateless_http=True)"), "2025-11-25"),
    ],
)
def test_servers_of_other_frameworks_are_negotiated(module: str, app: str, revision: str) -> None:
    async def use(url: str) -> None:
        steps: list[float] = []
        async with Client(url, timeout=CAP) as client:
            assert client.revision == revision
            await client.call("climb", {"steps": 2}, progress=lambda s: steps.append(s.progress))
            assert (await client.read("memo://days/monday")).text == "sun on monday"
        assert steps in ([1, 2], [])
        assert steps or "json_response" in app

    with serving_peer(module, app) as url:
        run(use(url))
