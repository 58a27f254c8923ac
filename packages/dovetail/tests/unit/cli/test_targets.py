"""The target of a command line, and the headers for a URL."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dovetail.cli.app import app
from dovetail.cli.client_runs import make_client
from dovetail.cli.targets import TargetOptions, find_target
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


def test_a_refused_key_is_explained_with_the_options() -> None:
    async def refuse(heard: Heard, wire: Wire) -> None:
        await wire.respond(401, b"", Www_Authenticate="Bearer")

    async def use() -> Result:
        async with fake_http(refuse) as fake:
            return await asyncio.to_thread(dovetail, "list", fake.url)

    result = run(use())
    assert result.exit_code == 4
    assert f"run: dovetail login {URL[:16]}" in result.stderr
    assert "--token-env NAME" in result.stderr


def test_a_server_on_plain_http_needs_no_login() -> None:
    # It must not be refused because OAuth needs https.
    for url in ("http://192.0.2.1/mcp", "https://192.0.2.1/mcp"):
        make_client(url, TargetOptions())
        make_client({"url": url, "headers": {"authorization": "x"}}, TargetOptions())


async def _no_tools(heard: Heard, wire: Wire) -> None:
    await wire.result(heard, {"tools": [], "resultType": "complete"})


def test_headers_are_sent_with_every_request_to_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
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
        (["hidden"], r"Header 1 \(6 characters\) has no colon; expected 'Name: value'"),
        (["A: b", "A=hidden"], r"Header 2 \(8 characters\) has no colon"),
        (["Name=hidden: x"], r"Header 1 has an invalid name.*it begins with 'Name'; expected"),
        ([": hidden"], r"Header 1 has an invalid name.*the name is missing"),
        (["A: b", "a: hidden"], r"The header a is given twice"),
    ],
)
def test_invalid_headers_are_rejected_and_not_shown(lines: list[str], problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        TargetOptions(header_lines=lines).read_headers()
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["-H", "Authorization: Bearer h\u00efdden"], "must be printable ASCII text"),
        (["--header", "Mcp-Session-Id: hidden"], "set by the client"),
        (["-H", "hidden"], "has no colon"),
        (["--token-env", "NO_SUCH_TOKEN"], "the environment variable 'NO_SUCH_TOKEN' is not set"),
        (["--token-env", "EMPTY_TOKEN"], "the environment variable 'EMPTY_TOKEN' is empty"),
        (["--token-env", "TOKEN", "-H", "authorization: hidden"], "Authorization is given twice"),
    ],
)
@pytest.mark.parametrize("verb", [["list"], ["call"], ["inspect"]])
def test_wrong_options_are_rejected(
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
def test_headers_need_a_url(
    option: list[str], target: list[str], command: list[str], given: str
) -> None:
    result = dovetail("list", *target, *option, command=command)
    assert result.exit_code == 2
    assert "--header and --token-env need a URL" in result.stderr
    assert given in result.stderr
    assert "hidden" not in result.output


def test_headers_are_not_in_tracebacks() -> None:
    options: Any = TargetOptions(header_lines=["Authorization: hidden"])
    assert "hidden" not in repr(options)
