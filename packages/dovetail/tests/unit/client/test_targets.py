"""Valid and invalid targets of a client."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from dovetail.client import Client
from dovetail.client.http_channel import HttpChannel
from dovetail.client.stdio import StdioChannel
from dovetail.client.targets import MemoryChannel, find_command, open_target
from dovetail.errors import UsageError
from tests.peers.scripted import ScriptedServer


def test_a_server_object_uses_the_memory_channel() -> None:
    assert isinstance(open_target(ScriptedServer({})), MemoryChannel)
    assert isinstance(open_target("some command"), StdioChannel)


@pytest.mark.parametrize(
    ("target", "argv"),
    [
        ("uvx 'my server' --fast", ["uvx", "my server", "--fast"]),
        (["python", "my server.py"], ["python", "my server.py"]),
        (("npx", "x"), ["npx", "x"]),
        ({"command": "uvx", "args": ["a"], "type": "stdio"}, ["uvx", "a"]),
        ("missing.py", ["missing.py"]),
    ],
)
def test_commands_have_several_forms(target: Any, argv: list[str]) -> None:
    assert list(find_command(target).argv) == argv


def test_a_python_file_runs_with_the_same_interpreter(tmp_path: Path) -> None:
    file = tmp_path / "my server.py"
    file.touch()
    run = [sys.executable, "-m", "dovetail", "run"]
    assert list(find_command(file).argv) == [*run, str(file)]
    assert list(find_command(str(file)).argv) == [*run, str(file)]
    assert list(find_command(f"{file}:app").argv) == [*run, f"{file}:app"]


def test_the_callers_environment_overrides_the_entry() -> None:
    entry = {"command": "x", "env": {"A": "1", "B": "2"}}
    assert find_command(entry, {"B": "3"}).env == {"A": "1", "B": "3"}


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("http://", "with a host"),
        ("http://[::1/mcp", "is not a valid URL"),
        ("http://host:port/mcp", "is not a valid URL"),
        ("http://me:secret@host/mcp", "headers="),
        ("http://host/a b", "percent-encoded"),
        ({"url": 7}, "'url' must be a string"),
        ({"url": "http://host", "headers": ["x"]}, "'headers' must map"),
        ({"url": "http://host", "headers": {"Mcp-Session-Id": "x"}}, "set by the client"),
        ({"url": "http://host", "headers": {"A B": "x"}}, "not a valid header name"),
        ({"url": "http://host", "headers": {"A": "x\r\ny"}}, "printable ASCII"),
        ("", "no command"),
        ([], "no command"),
        ("'unfinished", "cannot be parsed"),
        ([1], "list of strings"),
        ({"args": ["x"]}, "needs a string under 'command' or 'url'; got an entry with 'args'"),
        ({}, "nothing in it"),
        ({"url": "ws://host"}, "must begin with http:// or https://, got 'ws://host'"),
        ({"command": "x", "args": "y"}, "'args' must be a list of strings"),
        ({"command": "x", "env": ["y"]}, "'env' must map"),
        (object(), "is not a server: pass a Server, a command"),
        (7, "is not a server"),
    ],
)
def test_invalid_targets_are_rejected_at_once(target: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        Client(target)


def test_every_form_of_url_uses_http() -> None:
    assert isinstance(open_target("HTTP://localhost:8000/mcp"), HttpChannel)
    entry = {"type": "http", "url": "https://localhost/mcp", "headers": {"Authorization": "x"}}
    assert isinstance(open_target(entry, headers={"X-More": "y"}), HttpChannel)


def test_headers_without_a_url_are_rejected() -> None:
    with pytest.raises(UsageError, match="headers= needs a URL"):
        Client("some command", headers={"Authorization": "x"})


def test_error_messages_do_not_show_secrets() -> None:
    for target, headers in (
        ("http://me:secret@host/mcp", None),
        ("http://host/mcp", {"Authorization": "secret\n"}),
        ({"url": "ws://host/mcp", "headers": {"Authorization": "secret"}}, None),
        ({"headers": {"Authorization": "secret"}}, None),
        ({"command": "x", "env": {"KEY": "secret"}}, {"Authorization": "secret"}),
        ({"command": "x", "env": ["secret"]}, None),
    ):
        with pytest.raises(UsageError) as caught:
            Client(target, headers=headers)
        assert "secret" not in str(caught.value)
