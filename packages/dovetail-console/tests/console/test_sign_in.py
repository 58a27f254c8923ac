from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dovetail.auth import Guard, OAuth
from dovetail.client import Client
from tests.console.console_client import ConsoleClient
from tests.console.pages import browse, make_server, token_of
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
                    # Somebody else's browser ends nothing, whoever is signed in there.
                    async with httpx.AsyncClient(timeout=CAP) as other:
                        page = await other.get(data["url"], follow_redirects=True)
                        assert page.status_code == 410, page.text
                        assert "Not signed in" in page.text
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
                config, page_token = await asyncio.to_thread(read_page, served)
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
                own = {"X-Console-Token": page_token}
                async with Client(f"{served.base}/mcp", headers=own, timeout=CAP) as client:
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


@pytest.mark.slow
def test_strangers_make_the_server_register_once_and_ask_the_issuer_a_few_times() -> None:
    async def run() -> None:
        async with fake_authority() as fake:
            # The server is its own authority, as far as a sign-in can tell.
            guard = Guard(OAuth(fake.origin, resource=fake.url))
            app = make_server().http_app(console=True, guard=guard)
            transport = httpx.ASGITransport(app, client=("192.0.2.1", 1))
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1:8000", timeout=CAP
            ) as client:
                headers = await token_of(client)
                body = {"server": "shop"}
                tasks = [
                    asyncio.create_task(
                        client.post("/console/api/sign-in", json=body, headers=headers)
                    )
                    for _ in range(30)
                ]
                # Those that are refused do not wait for a user.
                done: set[asyncio.Task[httpx.Response]] = set()
                while len(done) < 25:
                    done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                assert {each.result().status_code for each in done} == {429}
                # The others are all on the authorization page; a wrong answer ends none of them.
                sign_in = app._api._sign_in
                assert sign_in is not None
                async with asyncio.timeout(CAP):
                    while len(sign_in._waiting) < len(waiting):
                        await asyncio.sleep(0.01)
                wrong = await client.get("/console/callback?state=wrong&code=x&error=denied")
                assert wrong.status_code == 410
                assert len(sign_in._waiting) == len(waiting) == 5
                assert fake.count("/register") == 1
                for each in waiting:
                    each.cancel()
                await asyncio.wait(waiting)
                # Those that were given up count for a minute.
                answer = await client.post("/console/api/sign-in", json=body, headers=headers)
                assert answer.status_code == 429

    asyncio.run(run())


def test_an_answer_that_nobody_waits_for_is_refused() -> None:
    async def use(client: httpx.AsyncClient) -> int:
        return (await client.get("/console/callback?state=x&code=y")).status_code

    assert browse(make_server().http_app(console=True), use) == 404
