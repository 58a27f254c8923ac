"""`dovetail login`, `logout` and `whoami`, and commands that use the login."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dovetail.cli.app import app
from tests.patience import CAP
from tests.peers.scripted import run
from tests.unit.client.auth.authority import Asked, FakeAuthority, Reply, fake_authority


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A user with an empty home, whose browser agrees to everything; the visited pages."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("DISPLAY", ":0")
    visited: list[str] = []
    threads: list[threading.Thread] = []

    def visit(url: str) -> None:
        with urllib.request.urlopen(url, timeout=CAP) as page:
            page.read()

    def browse(url: str) -> bool:
        visited.append(url)
        threads.append(threading.Thread(target=visit, args=[url]))
        threads[-1].start()
        return True

    monkeypatch.setattr("webbrowser.open", browse)
    yield visited
    for thread in threads:
        thread.join(CAP)


async def dovetail(*words: str) -> Result:
    # In a thread, because the fake server needs this event loop.
    return await asyncio.to_thread(CliRunner().invoke, app, list(words), obj=[])


def with_authority(use: Callable[[FakeAuthority], Awaitable[None]]) -> None:
    async def work() -> None:
        async with fake_authority() as fake:
            fake.pages["/mcp"] = lambda asked: list_tools(fake, asked)
            await use(fake)

    run(work())


def list_tools(fake: FakeAuthority, asked: Asked) -> Reply:
    """The answer of the server, which also lists its tool."""
    reply = fake.mcp(asked)
    if reply.status == 401 or asked.json.get("method") != "tools/list":
        return reply
    tool = {"name": "work", "inputSchema": {"type": "object"}}
    result = {"resultType": "complete", "tools": [tool], "ttlMs": 0, "cacheScope": "private"}
    return Reply(document={"jsonrpc": "2.0", "id": asked.json["id"], "result": result})


async def call(fake: FakeAuthority) -> Result:
    return await dovetail("call", fake.url, "work", "--mode", "modern")


def test_other_commands_use_the_login_until_logout(user: list[str], tmp_path: Path) -> None:
    async def use(fake: FakeAuthority) -> None:
        denied = await call(fake)
        assert denied.exit_code == 4
        assert f"run: dovetail login {fake.url}" in denied.stderr

        done = await dovetail("login", fake.url, "--scope", "read write", "--scope", "more")
        assert done.exit_code == 0, done.output
        assert "Scopes  read write more" in done.stdout
        assert len(user) == 1
        assert (await call(fake)).stdout == "done\n"
        shown = await dovetail("whoami", fake.url)
        assert f"Server  {fake.url}" in shown.stdout
        assert "renewed without you" in shown.stdout

        # An expired token is renewed without the user.
        fake.tokens.clear()
        assert (await call(fake)).stdout == "done\n"
        assert len(fake.forms("refresh_token")) == 1
        assert len(user) == 1

        left = await dovetail("logout", fake.url)
        assert left.stdout == f"Logged out of {fake.url}\n"
        assert not fake.tokens
        assert (await call(fake)).exit_code == 4
        for each in (denied, done, shown, left):
            assert "token-access" not in each.output
            assert "token-refresh" not in each.output

    with_authority(use)
    assert [
        file for file in tmp_path.rglob("*") if file.is_file() and file.stat().st_mode & 0o077
    ] == []


def test_a_registered_client_logs_in_with_its_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_SECRET", "s3cr3t")

    async def use(fake: FakeAuthority) -> None:
        words = ["--client-id", "shop", "--client-secret-env", "SHOP_SECRET", "--json"]
        done = await dovetail("login", fake.url, *words)
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["client_id"] == "shop"
        assert "s3cr3t" not in done.output
        assert fake.count("/register") == 0
        # The other commands need no --client-id, also to renew the token.
        fake.tokens.clear()
        assert (await call(fake)).stdout == "done\n"
        [shown] = json.loads((await dovetail("whoami", "--json")).stdout)
        assert (shown["server"], shown["client_id"]) == (fake.url, "shop")
        assert json.loads((await dovetail("logout", fake.url, "--json")).stdout)["revoked"] is True
        assert (await dovetail("whoami")).stdout == "No logins.\n"

    with_authority(use)


def test_a_login_without_a_browser(user: list[str]) -> None:
    """The address is printed, or a code for another device."""

    async def use(fake: FakeAuthority) -> None:
        fake.pages["/device"] = lambda _: Reply(
            document={
                "device_code": "device-1",
                "user_code": "ABCD",
                "verification_uri": f"{fake.origin}/enter",
                "interval": 0,
            }
        )
        done = await dovetail("login", fake.url, "--device")
        assert done.exit_code == 0, done.output
        assert f"Open {fake.origin}/enter on any device and enter the code ABCD" in done.stderr

        both = await dovetail("login", fake.url, "--device", "--no-browser")
        assert both.exit_code == 2

    with_authority(use)
    assert user == []


def test_the_address_is_printed_on_request() -> None:
    async def use(fake: FakeAuthority) -> None:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "dovetail", "login", fake.url, "--no-browser"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        while not (line := (await process.stderr.readline()).strip()).startswith(b"http"):
            assert not process.stderr.at_eof()
        await asyncio.to_thread(urllib.request.urlopen, line.decode())
        said, _ = await process.communicate()
        assert process.returncode == 0
        assert b"Issuer" in said

    with_authority(use)


def test_a_login_that_the_user_refuses_is_explained() -> None:
    async def use(fake: FakeAuthority) -> None:
        def refuse(asked: Any) -> Reply:
            query = f"error=access_denied&state={asked.query['state']}&iss={fake.origin}"
            return Reply(302, headers={"Location": f"{asked.query['redirect_uri']}?{query}"})

        fake.pages["/authorize"] = refuse
        done = await dovetail("login", fake.url)
        assert done.exit_code == 1
        assert "access_denied" in done.stderr
        assert len(done.stderr.splitlines()) == 1

    with_authority(use)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["login", "shop.py"], 2, "Expected a URL (http://... or https://...), got 'shop.py'"),
        (["logout", "shop.py"], 2, "Expected a URL"),
        (["whoami", "shop.py"], 2, "Expected a URL"),
        (["login", "http://127.0.0.1:9/mcp"], 4, "127.0.0.1:9"),
        (["logout", "http://127.0.0.1:9/mcp"], 1, "There is no login for http://127.0.0.1:9/mcp"),
        (["whoami", "http://127.0.0.1:9/mcp"], 1, "run: dovetail login http://127.0.0.1:9/mcp"),
        (
            [
                "login",
                "http://127.0.0.1:9/mcp",
                "--client-id",
                "a",
                "--client-secret-env",
                "NO_ENV",
            ],
            2,
            "--client-secret-env: the environment variable 'NO_ENV' is not set",
        ),
    ],
)
def test_errors_are_one_line(words: list[str], code: int, told: str) -> None:
    result = CliRunner().invoke(app, words, obj=[])
    assert result.exit_code == code, result.output
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1
