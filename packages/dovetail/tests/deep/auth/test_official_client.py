"""The complete OAuth flow with the official client and a real authorization server.

401, resource metadata, issuer metadata, registration, authorization code with PKCE and a resource
indicator, consent, call; then a tool that needs another scope: 403, step-up, call.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.deep.auth.browser import Browser
from tests.deep.auth.conftest import Place


class Drawer:
    """Where the client keeps what it was given."""

    tokens: OAuthToken | None = None
    info: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.info = client_info


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_authenticates_and_steps_up(mode: str, place: Place) -> None:
    asyncio.run(_flow(mode, place))


async def _flow(mode: str, place: Place) -> None:
    browser, drawer = Browser("anna"), Drawer()
    metadata = OAuthClientMetadata(
        client_name="tests",
        redirect_uris=[AnyUrl("http://127.0.0.1:9/callback")],
        token_endpoint_auth_method="none",
        grant_types=["authorization_code", "refresh_token"],
    )
    auth = OAuthClientProvider(place.url, metadata, drawer, browser.visit, browser.come_back)
    async with create_mcp_http_client(auth=auth) as http:
        transport = streamable_http_client(place.url, http_client=http)
        async with Client(transport, mode=mode) as client:
            told: Any = (await client.call_tool("who", {})).structured_content
            assert told == {"id": f"{place.provider.issuer}#anna", "scopes": ["notes:read"]}
            [asked] = browser.visited
            assert asked["resource"] == [place.url]
            assert asked["code_challenge_method"] == ["S256"]
            assert asked["scope"] == ["notes:read"]
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == ["who", "read_note", "write_note"]
            written = await client.call_tool("write_note", {"title": "a", "text": "bc"})
            assert written.content[0].text == "wrote 2 to a"  # type: ignore[union-attr]
            [_, again] = browser.visited
            assert set(again["scope"][0].split()) == {"notes:read", "notes:write"}
            told = (await client.call_tool("who", {})).structured_content
            assert told["scopes"] == ["notes:read", "notes:write"]
    assert drawer.tokens is not None
    for path in (place.log, place.audit):
        assert drawer.tokens.access_token not in path.read_text()
