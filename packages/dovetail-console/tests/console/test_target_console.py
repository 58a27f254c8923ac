from __future__ import annotations

from typing import Any

import pytest

from dovetail.cli.targets import GivenTarget, TargetOptions
from dovetail.errors import UsageError
from dovetail_console.console_site import ConsoleServer
from dovetail_console.target_console import build_target_console


def build(target: Any, text: str | None = None, **options: Any) -> ConsoleServer:
    command = target if isinstance(target, list) else []
    given = GivenTarget(text, command, TargetOptions(**options))
    app, proxies = build_target_console(target, given)
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
