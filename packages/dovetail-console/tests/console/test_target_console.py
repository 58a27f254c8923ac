from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dovetail.client import Client
from dovetail.commands import TargetOptions
from dovetail.errors import UsageError
from dovetail_console.requests import ConsoleServer
from dovetail_console.targets import build_target_console
from tests.patience import CAP

SOURCE = """
from dovetail import Context, Server

server = Server("shop", version="1")

@server.tool
def revision(ctx: Context) -> str:
    return ctx.protocol_version
"""


def build(target: Any, text: str | None = None, **options: Any) -> ConsoleServer:
    command = target if isinstance(target, list) else []
    app, proxies = build_target_console(target, text, command, TargetOptions(**options))
    assert len(proxies) == 6
    [server] = app._site.servers
    return server


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (["npx", "-y", "@modelcontextprotocol/server-everything"], "server-everything"),
        (["/usr/bin/uvx", "mcp-server-git"], "mcp-server-git"),
        (["python", "-m", "dovetail", "run", "a/weather.py"], "weather"),
        (["node", "/a/server-everything/dist/index.js", "/tmp"], "server-everything"),
        (["node", "dist/index.js"], "dist/index.js"),
        (["weather-server", "--fast"], "weather-server"),
        (["npx"], "npx"),
    ],
)
def test_the_page_shows_what_a_launcher_starts(argv: list[str], name: str) -> None:
    assert build(argv).name == name


def test_a_command_is_shown_as_other_commands_take_it() -> None:
    server = build(["npx", "every thing"], env={"KEY": "v"}, cwd="/tmp")
    assert server.target == "-- npx 'every thing'"
    assert server.check_words == ["--env", "KEY=v", "--cwd", "/tmp", "--", "npx", "every thing"]
    assert server.sign_in is None


def test_a_url_can_be_signed_in_to_unless_it_has_credentials() -> None:
    url = "https://shop.example/mcp"
    server = build(url, url)
    assert server.target == url
    assert server.sign_in is not None
    assert server.sign_in.url == url
    with_key = build(url, url, header_lines=["Authorization: Bearer x"])
    assert with_key.sign_in is None
    assert with_key.check_words == ["--header", "Authorization: Bearer x", url]


def test_an_entry_keeps_its_name() -> None:
    entry = {"command": "npx", "args": ["every"]}
    server = build(entry, "mine", config="mcp.json")
    assert server.name == "mine"
    assert server.command == ("npx", "every")
    assert server.check_words == ["--config", "mcp.json", "--server", "mine"]


def test_a_wrong_header_is_refused() -> None:
    with pytest.raises(UsageError, match="no colon"):
        build("https://shop.example/mcp", "https://shop.example/mcp", header_lines=["x"])


@pytest.mark.slow
def test_the_target_is_used_at_the_revision_of_the_proxy_and_its_messages_are_recorded(
    tmp_path: Path,
) -> None:
    file = tmp_path / "shop.py"
    file.write_text(SOURCE)
    command = [sys.executable, "-m", "dovetail", "run", str(file)]

    async def run() -> None:
        app, proxies = build_target_console(command, None, command, TargetOptions())
        traffic = app._site.traffic
        assert traffic is not None
        dates = ("2024-11-05", "2025-11-25", "2026-07-28")
        for date, proxy in zip(dates, [proxies[1], proxies[4], proxies[5]], strict=True):
            async with proxy.running(), Client(proxy, mode=date, timeout=CAP) as client:
                await client.call("revision")
        frames: list[dict[str, Any]] = []
        async with asyncio.timeout(CAP):
            async for frame in traffic.follow():
                frames.append(frame)
                calls = [
                    each
                    for each in frames
                    if each["method"] == "tools/call" and each["kind"] == "request"
                ]
                if len(calls) == 3 and frame["kind"] == "response":
                    break
        assert len({frame["stream"] for frame in frames}) == 3
        responses = [frame for frame in frames if frame["kind"] == "response"]
        assert all(frame["ms"] is not None for frame in responses)
        versions = [
            each["params"]["protocolVersion"]
            for each in map(_decode, frames)
            if each.get("method") == "initialize"
        ]
        assert versions == ["2024-11-05", "2025-11-25"]

    asyncio.run(run())


def _decode(frame: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(frame["text"])
    return found
