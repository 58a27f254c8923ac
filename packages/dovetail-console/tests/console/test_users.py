"""Who may use the console of a target: the user who started it, and nobody else on the machine."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import socket
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from dovetail.client import Client
from dovetail.commands import TargetOptions
from dovetail.transports import HttpRequest
from dovetail_console import users
from dovetail_console.app import ConsoleApp
from dovetail_console.targets import build_target_console
from tests.console.console_client import ConsoleClient
from tests.console.pages import LOCAL, token_of
from tests.console.serving import serve_console
from tests.patience import CAP

SOURCE = """
from dovetail import Server

server = Server("shop", version="1")

@server.tool
def add(a: int, b: int) -> int:
    return a + b
"""
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def build() -> ConsoleApp:
    return build_target_console(["cat"], None, ["cat"], TargetOptions())[0]


def open_client(app: ConsoleApp, **options: Any) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, **options)
    return httpx.AsyncClient(transport=transport, base_url=LOCAL, timeout=CAP)


@pytest.mark.parametrize("path", ["/mcp", "/mcp/2025-11-25", "/mcp/2026-07-28", "/healthz"])
def test_the_endpoint_of_a_target_needs_the_token_of_the_page(path: str) -> None:
    app = build()

    async def run() -> None:
        async with open_client(app) as client:
            for headers in ({}, {"X-Console-Token": "wrong"}):
                for method in ("POST", "GET", "DELETE", "OPTIONS"):
                    given = {**ACCEPT, **headers}
                    answer = await client.request(method, path, json=PING, headers=given)
                    assert answer.status_code == 403
                    assert "Only the page" in answer.json()["error"]

    asyncio.run(run())


@pytest.mark.slow
def test_the_page_of_a_target_is_for_its_user_and_so_are_the_calls(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text(SOURCE)
    with serve_console("--", sys.executable, "-m", "dovetail", "run", str(file)) as served:
        stranger = httpx.post(f"{served.base}/mcp", json=PING, headers=ACCEPT, timeout=CAP)
        assert stranger.status_code == 403
        with ConsoleClient(served.base) as page:
            own = {"X-Console-Token": page.token}

        async def use() -> str:
            async with Client(f"{served.base}/mcp", headers=own, timeout=CAP) as client:
                return (await client.call("add", {"a": 1, "b": 2})).text

        assert asyncio.run(use()) == "3"
        # The requests before do not make this one valid.
        stranger = httpx.post(f"{served.base}/mcp", json=PING, headers=ACCEPT, timeout=CAP)
        assert stranger.status_code == 403


@pytest.mark.parametrize(("uid", "status"), [(os.getuid(), 200), (0, 200), (4242, 403)])
def test_the_page_is_refused_to_other_users(
    monkeypatch: pytest.MonkeyPatch, uid: int, status: int
) -> None:
    monkeypatch.setattr(users, "find_uid", lambda request: uid)
    app = build()

    async def run() -> None:
        async with open_client(app) as client:
            for path in ("/console/", "/console/index.html"):
                answer = await client.get(path)
                assert answer.status_code == status
                assert (app._site.token in answer.text) is (status == 200)

    asyncio.run(run())


def test_a_browser_whose_user_is_unknown_needs_the_password(
    capsys: pytest.CaptureFixture[str],
) -> None:
    app = build()

    async def run() -> None:
        async with open_client(app, client=("192.0.2.1", 1)) as client:
            refused = await client.get("/console/")
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"].startswith("Basic")
            [password] = re.findall("Password of the console: (.+)", capsys.readouterr().err)
            for given in ("x:", "x:wrong", ":"):
                credentials = base64.b64encode(given.encode()).decode()
                headers = {"Authorization": f"Basic {credentials}"}
                assert (await client.get("/console/", headers=headers)).status_code == 401
            headers = {"Authorization": "Basic !"}
            assert (await client.get("/console/", headers=headers)).status_code == 401
            # It is printed once.
            assert capsys.readouterr().err == ""
            client.auth = httpx.BasicAuth("me", password)
            assert await token_of(client) == {"X-Console-Token": app._site.token}

    asyncio.run(run())


@pytest.mark.parametrize(
    ("host", "address"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("::", "127.0.0.1")]
)
def test_the_system_tells_whose_a_connection_is(host: str, address: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family, dualstack_ipv6=host == "::") as listening:
        connected = socket.create_connection((address, listening.getsockname()[1]))
        with listening.accept()[0] as accepted, connected:
            scope = {"client": accepted.getpeername()[:2], "server": accepted.getsockname()[:2]}
            request = HttpRequest(scope, {}, None, None)  # type: ignore[arg-type]
            # Elsewhere the browser asks for the password.
            known = os.getuid() if sys.platform == "linux" else None
            assert users.find_uid(request) == known
            connected.close()
            assert users.find_uid(request) is None


def test_a_connection_without_addresses_is_nobodys() -> None:
    for scope in ({}, {"client": ("localhost", 1), "server": ("/run/x.sock", None)}):
        assert users.find_uid(HttpRequest(scope, {}, None, None)) is None  # type: ignore[arg-type]
