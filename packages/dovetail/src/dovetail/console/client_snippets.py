"""What to paste into which client, so that it uses a server."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Snippet", "make_snippets"]

_KEY = "YOUR_KEY"


class Snippet(NamedTuple):
    """A text for one client."""

    name: str
    text: str


def make_snippets(
    name: str, url: str, command: Sequence[str], key_header: str | None
) -> list[Snippet]:
    """The texts for a server.

    `url` is empty if it has none, and `command`, which starts it on stdio, if that is not known.
    `key_header`: the header for an API key, if the server needs one.
    """
    if not url:
        return _make_stdio_snippets(name, command)
    bearer = "Bearer " if key_header == "Authorization" else ""
    headers = {} if key_header is None else {key_header: f"{bearer}{_KEY}"}
    more: dict[str, Any] = {"headers": headers} if headers else {}
    lines = [f"{header}: {value}" for header, value in headers.items()]
    add = ["claude", "mcp", "add", "--transport", "http", name, url]
    for line in lines:
        add += ["--header", line]
    # Claude Desktop starts servers itself; mcp-remote is such a server for a URL.
    remote = ["npx", "-y", "mcp-remote", url]
    for line in lines:
        remote += ["--header", line]
    program, *arguments = command or remote
    call = ["dovetail", "list", url]
    for line in lines:
        call += ["-H", line]
    return [
        Snippet("Claude Code", shlex.join(add)),
        Snippet(
            "Claude Desktop", _entry("mcpServers", name, {"command": program, "args": arguments})
        ),
        Snippet("mcp.json", _entry("mcpServers", name, {"type": "http", "url": url, **more})),
        Snippet("Cursor", _entry("mcpServers", name, {"url": url, **more})),
        Snippet("VS Code", _entry("servers", name, {"type": "http", "url": url, **more})),
        Snippet("dovetail", shlex.join(call)),
    ]


def _make_stdio_snippets(name: str, command: Sequence[str]) -> list[Snippet]:
    settings = {"command": command[0], "args": list(command[1:])}
    add = ["claude", "mcp", "add", name, "--", *command]
    return [
        Snippet("Claude Code", shlex.join(add)),
        Snippet("Claude Desktop", _entry("mcpServers", name, settings)),
        Snippet("mcp.json", _entry("mcpServers", name, settings)),
        Snippet("Cursor", _entry("mcpServers", name, settings)),
        Snippet("VS Code", _entry("servers", name, {"type": "stdio", **settings})),
        Snippet("dovetail", shlex.join(["dovetail", "list", "--", *command])),
    ]


def _entry(member: str, name: str, settings: dict[str, Any]) -> str:
    return json.dumps({member: {name: settings}}, indent=2, ensure_ascii=False)
