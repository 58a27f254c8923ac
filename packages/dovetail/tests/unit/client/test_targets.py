"""What names a server, and what does not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from dovetail.client import Client
from dovetail.client.http_channel import HttpChannel
from dovetail.client.memory import MemoryChannel
from dovetail.client.stdio import StdioChannel
from dovetail.client.targets import find_command, open_target
from dovetail.errors import UsageError
from tests.peers.scripted import ScriptedServer


def test_a_server_object_is_reached_in_memory() -> None:
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
def test_commands_may_be_spelled_in_many_ways(target: Any, argv: list[str]) -> None:
    assert list(find_command(target).argv) == argv


def test_a_python_file_is_run_by_this_very_interpreter(tmp_path: Path) -> None:
    file = tmp_path / "my server.py"
    file.touch()
    run = [sys.executable, "-m", "dovetail", "run"]
    assert list(find_command(file).argv) == [*run, str(file)]
    assert list(find_command(str(file)).argv) == [*run, str(file)]
    assert list(find_command(f"{file}:app").argv) == [*run, f"{file}:app"]


def test_the_environment_of_an_entry_yields_to_the_callers() -> None:
    entry = {"command": "x", "env": {"A": "1", "B": "2"}}
    assert find_command(entry, {"B": "3"}).env == {"A": "1", "B": "3"}


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("http://", "with a host"),
        ("http://[::1/mcp", "is no URL"),
        ("http://host:port/mcp", "is no URL"),
        ("http://me:secret@host/mcp", "headers="),
        ("http://host/a b", "percent-encoded"),
        ({"url": 7}, "'url' must be a text"),
        ({"url": "http://host", "headers": ["x"]}, "'headers' must map"),
        ({"url": "http://host", "headers": {"Mcp-Session-Id": "x"}}, "client's own"),
        ({"url": "http://host", "headers": {"A B": "x"}}, "no name of a header"),
        ({"url": "http://host", "headers": {"A": "x\r\ny"}}, "plain ASCII"),
        ("", "no command"),
        ([], "no command"),
        ("'unfinished", "cannot be split"),
        ([1], "list of texts"),
        ({"args": ["x"]}, "no text under 'command' or 'url'; an entry with 'args'"),
        ({}, "nothing in it"),
        ({"url": "ws://host"}, "must begin with http:// or https://, got 'ws://host'"),
        ({"command": "x", "args": "y"}, "'args' must be a list of texts"),
        ({"command": "x", "env": ["y"]}, "'env' must map"),
        (object(), "is no server: give a Server, a command"),
        (7, "is no server"),
    ],
)
def test_what_names_no_server_is_refused_at_once(target: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        Client(target)


def test_a_url_is_reached_over_http_whatever_names_it() -> None:
    assert isinstance(open_target("HTTP://localhost:8000/mcp"), HttpChannel)
    entry = {"type": "http", "url": "https://localhost/mcp", "headers": {"Authorization": "x"}}
    assert isinstance(open_target(entry, headers={"X-More": "y"}), HttpChannel)


def test_headers_without_a_url_are_refused() -> None:
    with pytest.raises(UsageError, match="headers= are for a URL"):
        Client("some command", headers={"Authorization": "x"})


def test_a_secret_is_not_repeated_in_what_is_refused() -> None:
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
