"""Targets of a command line and of a client configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dovetail.errors import UsageError
from dovetail_check.targets import find_target, from_config


def test_a_file_is_started_by_this_python_and_called_what_the_user_called_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").touch()
    target = find_target("shop.py:server", (), env={"A": "b"})
    assert (str(target), target.transport, target.command[-2:]) == (
        "shop.py:server",
        "stdio",
        ("run", "shop.py:server"),
    )
    assert target.env == {"A": "b"}


def test_a_file_stays_where_it_was_named_when_the_server_runs_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").touch()
    target = find_target("shop.py", (), cwd="/")
    assert target.command[-1] == str(tmp_path / "shop.py")


def test_a_url_and_a_command_are_what_they_are() -> None:
    url = find_target("https://example.org/mcp", ())
    assert (url.transport, url.is_local, url.secrets) == ("http", False, [])
    command = find_target(None, ("npx", "-y", "server"))
    assert (command.transport, str(command), command.is_local) == ("stdio", "npx -y server", True)


def test_secrets_of_headers_variables_and_urls_are_known_the_longest_first() -> None:
    headers = {"Authorization": "Bearer abcdefgh", "X-Key": "two words of it", "X-Flag": "on"}
    url = find_target("https://me:password1@example.org/mcp?key=12345678&v=2", (), headers=headers)
    assert url.secrets == [
        "Bearer abcdefgh",
        "two words of it",
        "password1",
        "12345678",
        "abcdefgh",
    ]
    command = find_target(None, ("server",), env={"TOKEN": "abcdefgh", "DEBUG": "1"})
    assert command.secrets == ["abcdefgh"]


@pytest.mark.parametrize(
    ("text", "expected"), [(None, "nothing to check"), ("shop", "is no URL and")]
)
def test_an_unknown_target_is_rejected(text: str | None, expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        find_target(text, ())


def config(tmp_path: Path, value: Any) -> Path:
    path = tmp_path / "mcp.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


def test_entries_of_both_kinds_are_read(tmp_path: Path) -> None:
    entries = {
        "notes": {"command": "python", "args": ["notes.py"], "env": {"KEY": 1}, "cwd": "/srv"},
        "shop": {"type": "http", "url": "http://127.0.0.1/mcp", "headers": {"X-Key": "secret"}},
    }
    notes = from_config(config(tmp_path, {"mcpServers": entries}), "notes")
    assert (notes.command, notes.env, notes.cwd) == (("python", "notes.py"), {"KEY": "1"}, "/srv")
    shop = from_config(config(tmp_path, {"servers": entries}), "shop")
    assert (shop.url, shop.headers) == ("http://127.0.0.1/mcp", {"X-Key": "secret"})


def test_the_only_entry_needs_no_name(tmp_path: Path) -> None:
    path = config(tmp_path, {"mcpServers": {"notes": {"command": "notes"}}})
    assert from_config(path, None).command == ("notes",)


@pytest.mark.parametrize(
    ("value", "server", "expected"),
    [
        ("{", "a", "is not a JSON object"),
        ([], "a", "is not a JSON object"),
        ({}, "a", "has no server 'a'; it has: none"),
        ({"mcpServers": {"b": {}, "c": {}}}, None, "it has: b, c"),
        ({"mcpServers": {"a": {}}}, "a", "has neither a command nor a url"),
    ],
)
def test_a_configuration_without_the_entry_is_rejected(
    tmp_path: Path, value: Any, server: str | None, expected: str
) -> None:
    with pytest.raises(UsageError, match=expected):
        from_config(config(tmp_path, value), server)
