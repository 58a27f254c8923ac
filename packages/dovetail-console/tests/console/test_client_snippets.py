from __future__ import annotations

import json
import shlex

from dovetail_console.config import make_snippets

URL = "http://127.0.0.1:8000/mcp"


def texts(*given: object) -> dict[str, str]:
    return dict(make_snippets(*given))  # type: ignore[arg-type]


def test_each_client_gets_its_own_format() -> None:
    found = texts("shop", URL, ["python", "shop.py"], None)
    assert found["Claude Code"] == f"claude mcp add --transport http shop {URL}"
    desktop = json.loads(found["Claude Desktop"])
    assert desktop == {"mcpServers": {"shop": {"command": "python", "args": ["shop.py"]}}}
    assert json.loads(found["Cursor"]) == {"mcpServers": {"shop": {"url": URL}}}
    assert json.loads(found["VS Code"]) == {"servers": {"shop": {"type": "http", "url": URL}}}
    assert found["dovetail"] == f"dovetail list {URL}"


def test_a_key_has_its_place_in_each_of_them() -> None:
    for header, value in (("Authorization", "Bearer YOUR_KEY"), ("X-Api-Key", "YOUR_KEY")):
        found = texts("shop", URL, [], header)
        for name in ("mcp.json", "Cursor"):
            entry = json.loads(found[name])["mcpServers"]["shop"]
            assert entry["headers"] == {header: value}
        assert f"{header}: {value}" in shlex.split(found["Claude Code"])
        assert (
            f"{header}: {value}"
            in json.loads(found["Claude Desktop"])["mcpServers"]["shop"]["args"]
        )


def test_a_server_without_a_url_is_started_by_the_client() -> None:
    found = texts("every", "", ["npx", "-y", "server everything"], None)
    assert found["Claude Code"] == "claude mcp add every -- npx -y 'server everything'"
    assert json.loads(found["VS Code"])["servers"]["every"]["type"] == "stdio"
    assert json.loads(found["mcp.json"])["mcpServers"]["every"]["command"] == "npx"


def test_a_name_with_spaces_stays_one_word() -> None:
    assert "my shop" in shlex.split(texts("my shop", URL, [], None)["Claude Code"])
