from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dovetail.client import Client
from tests.console.console_client import ConsoleClient
from tests.console.pages import browse, make_server
from tests.console.serving import Served, serve_console, serve_file
from tests.patience import CAP
from tests.unit.client.auth.authority import fake_authority

SOURCE = """
from dovetail import Server

server = Server("shop", version="1")

@server.tool
def add(a: int, b: int) -> int:
    return a + b
"""


def read_page(served: Served) -> tuple[dict[str, Any], str]:
    """The configuration and the token of the page."""
    with ConsoleClient(served.base) as client:
        return client.config(), client.token


async def sign_in(served: Served, server: str) -> AsyncIterator[tuple[str, Any]]:
    """The events of a sign-in, by a user who agrees."""
    config, token = await asyncio.to_thread(read_page, served)
    assert server in [each["name"] for each in config["servers"]]
    headers = {"X-Console-Token": token}
    async with (
        httpx.AsyncClient(base_url=served.base, timeout=CAP) as client,
        client.stream(
            "POST", "/console/api/sign-in", json={"server": server}, headers=headers
        ) as response,
    ):
        assert response.status_code == 200, await response.aread()
        event = ""
        async for line in response.aiter_lines():
            key, _, value = line.partition(": ")
            if key == "event":
                event = value
            elif key == "data":
                data = json.loads(value)
                yield event, data
                if event == "open":
                    page = await client.get(data["url"], follow_redirects=True)
                    assert page.status_code == 200, page.text
                    assert "Signed in" in page.text


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.mark.slow
def test_a_target_is_used_with_the_login_of_the_page(tmp_path: Path) -> None:
    homes = {name: str(tmp_path) for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "HOME")}

    async def run() -> None:
        async with fake_authority() as fake:
            context = serve_console(fake.url, env=homes)
            served = await asyncio.to_thread(context.__enter__)
            try:
                config, _ = await asyncio.to_thread(read_page, served)
                [server] = config["servers"]
                assert server["guard"]["oauth"] is True
                events = [each async for each in sign_in(served, server["name"])]
                assert events[-1][0] == "done", events[-1]
                assert events[-1][1]["token"] is None
                requests = [data["url"] for event, data in events if event == "request"]
                assert any(url.endswith("/token") for url in requests)
                text = json.dumps(events)
                for secret in (*fake.tokens, *fake.refresh_tokens):
                    assert secret not in text
                async with Client(f"{served.base}/mcp", timeout=CAP) as client:
                    assert (await client.call("work")).text == "done"
            finally:
                await asyncio.to_thread(context.__exit__, None, None, None)

    asyncio.run(run())


@pytest.mark.slow
def test_a_page_gets_the_token_for_its_own_server(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text(SOURCE)

    async def run() -> None:
        async with fake_authority() as fake:
            port = free_port()
            url = f"http://127.0.0.1:{port}/mcp"
            context = serve_file(
                file, "--issuer", fake.origin, "--resource", url, "--console", port=port
            )
            served = await asyncio.to_thread(context.__enter__)
            try:
                events = [each async for each in sign_in(served, "shop")]
                event, done = events[-1]
                assert event == "done", done
                assert done["token"] in fake.tokens
                before = json.dumps(events[:-1])
                assert done["token"] not in before
                assert [event for event, _ in events[:2]] == ["request", "response"]
                assert events[1][1]["status"] == 401
            finally:
                await asyncio.to_thread(context.__exit__, None, None, None)

    asyncio.run(run())


def test_an_answer_that_nobody_waits_for_is_refused() -> None:
    async def use(client: httpx.AsyncClient) -> int:
        return (await client.get("/console/callback?state=x&code=y")).status_code

    assert browse(make_server().http_app(console=True), use) == 404
