"""What a handler does not have it cannot pass on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dovetail import Context
from dovetail.auth import Guard
from dovetail.core.options import HTTP_DEFAULTS
from dovetail.transports.asgi.messages import HttpRequest
from dovetail.transports.streamable_http.app import HttpApp
from dovetail.transports.streamable_http.security import (
    WithoutCredentials,
    without_credentials,
)
from tests.unit.talk import LEGACY, request, run
from tests.unit.transports.streamable_http.asgi_client import Client
from tests.unit.transports.streamable_http.workshop import NamedByTest, Workshop

SCOPE = {"type": "http", "headers": [(b"authorization", b"Bearer x"), (b"accept", b"*/*")]}


def test_a_scope_is_copied_without_some_headers() -> None:
    found = without_credentials(SCOPE, {b"authorization"})
    assert found == {"type": "http", "headers": [(b"accept", b"*/*")]}
    assert len(SCOPE["headers"]) == 2


def test_everything_else_of_a_request_stays() -> None:
    async def receive() -> Any: ...
    async def transmit(message: Any) -> None: ...

    request = HttpRequest(SCOPE, dict(SCOPE["headers"]), receive, transmit)  # type: ignore[arg-type]
    seen = WithoutCredentials(request, {b"authorization"})
    assert (seen.receive, seen.transmit, seen.headers) == (receive, transmit, request.headers)
    assert seen.scope is seen.scope
    assert b"authorization" not in dict(seen.scope["headers"])


class Bearer(NamedByTest):
    credential_headers = (b"authorization",)


@pytest.mark.parametrize("waits", [False, True])
def test_a_handler_finds_no_token_in_its_scope(waits: bool) -> None:
    async def play() -> None:
        shop = Workshop()
        seen: list[Any] = []

        @shop.server.tool
        async def look(ctx: Context) -> str:
            if waits:
                await asyncio.sleep(0)
            seen.append(dict(ctx.scope["headers"]))
            return "seen"

        find = shop.server.tools.header_params
        app = HttpApp(shop.server.engine, "/mcp", HTTP_DEFAULTS, find, Guard(Bearer("anna")))
        client = await Client(app).open()
        own = [*client.own, ("authorization", "Bearer very-secret"), ("x-other", "there")]
        message = request("tools/call", {"name": "look", "arguments": {}}, revision=LEGACY)
        await client.send("POST", message, own)
        [headers] = seen
        assert headers[b"x-other"] == b"there"
        assert b"authorization" not in headers
        assert b"mcp-session-id" in headers

    run(play())
