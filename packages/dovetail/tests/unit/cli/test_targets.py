"""Which server a command line means, and what is sent along to one behind a URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dovetail.cli.app import app
from dovetail.cli.talking import TargetOptions, find_target, make_client
from dovetail.errors import UsageError
from tests.peers.scripted import run
from tests.unit.client.fake_http import Heard, Wire, fake_http, modern

FILE = str(Path(__file__).parents[2] / "peers" / "own_server.py")
URL = "http://127.0.0.1:1/mcp"


def dovetail(*words: str, command: list[str] | None = None) -> Result:
    return CliRunner().invoke(app, list(words), obj=command or [])


def test_a_url_is_a_target_whatever_it_ends_with() -> None:
    for url in (URL, "HTTPS://host/server.py"):
        assert find_target(url, [], TargetOptions()) == url


async def _no_tools(heard: Heard, wire: Wire) -> None:
    await wire.result(heard, {"tools": [], "resultType": "complete"})


def test_headers_go_with_every_request_to_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "abc")
    lines = ("X-Team: a: b ", "X-Empty:")
    options = TargetOptions(header_lines=lines, token_env="MY_TOKEN")

    async def use() -> list[Heard]:
        async with fake_http(modern({"tools/list": _no_tools})) as fake:
            async with make_client(fake.url, options) as client:
                await client.list_tools()
            return fake.heard

    heard: list[Heard] = run(use())
    assert len(heard) == 2
    for one in heard:
        assert one.headers["x-team"] == "a: b"
        assert one.headers["x-empty"] == ""
        assert one.headers["authorization"] == "Bearer abc"


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["hidden"], r"header 1 has no colon in its 6 characters; expected 'Name: value'"),
        (["A: b", "A=hidden"], r"header 2 has no colon in its 8 characters"),
        (["Name=hidden: x"], r"header 1 has no valid header name.*it begins with 'Name'; expected"),
        ([": hidden"], r"header 1 has no valid header name.*there is none"),
        (["A: b", "a: hidden"], r"The header a is given twice"),
    ],
)
def test_a_line_that_is_no_header_is_refused_and_not_repeated(
    lines: list[str], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        TargetOptions(header_lines=lines).read_headers()
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["-H", "Authorization: Bearer h\u00efdden"], "must be text in plain ASCII"),
        (["--header", "Mcp-Session-Id: hidden"], "client's own"),
        (["-H", "hidden"], "has no colon"),
        (["--token-env", "NO_SUCH_TOKEN"], "the variable 'NO_SUCH_TOKEN' is not set"),
        (["--token-env", "EMPTY_TOKEN"], "the variable 'EMPTY_TOKEN' is empty"),
        (["--token-env", "TOKEN", "-H", "authorization: hidden"], "Authorization is given twice"),
    ],
)
@pytest.mark.parametrize("verb", [["list"], ["call"], ["inspect"]])
def test_the_command_line_is_wrong(
    words: list[str], problem: str, verb: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMPTY_TOKEN", "")
    monkeypatch.setenv("TOKEN", "hidden")
    result = dovetail(*verb, URL, *(["tool"] if verb == ["call"] else []), *words)
    assert result.exit_code == 2
    assert problem in result.stderr
    assert "dden" not in result.output


@pytest.mark.parametrize("option", [["-H", "A: hidden"], ["--token-env", "TOKEN"]])
@pytest.mark.parametrize(
    ("target", "command", "given"),
    [
        ([FILE], [], "own_server.py'"),
        ([FILE, "--stdio"], [], "own_server.py'"),
        (["some command"], [], "'some command'"),
        ([], ["some", "command"], "the command 'some'"),
        (["http://host"], ["some", "command"], "the command 'some'"),
    ],
)
def test_headers_are_for_urls(
    option: list[str], target: list[str], command: list[str], given: str
) -> None:
    result = dovetail("list", *target, *option, command=command)
    assert result.exit_code == 2
    assert "--header and --token-env are for a URL" in result.stderr
    assert given in result.stderr
    assert "hidden" not in result.output


def test_what_was_given_does_not_show_in_tracebacks() -> None:
    options: Any = TargetOptions(header_lines=["Authorization: hidden"])
    assert "hidden" not in repr(options)
