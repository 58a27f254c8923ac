"""Targets, from the command line and from configuration files, and their credentials."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from dovetail.cli.app import app
from dovetail.cli.client_runs import make_client
from dovetail.cli.options import REACH_OPTIONS, with_options
from dovetail.cli.targets import (
    TargetOptions,
    find_target,
    make_auth,
    read_entry,
    read_login_headers,
)
from dovetail.client.auth import login
from dovetail.errors import UsageError
from tests.peers.scripted import run
from tests.unit.client.auth.authority import Visitor, fake_authority
from tests.unit.client.auth.authority import make_auth as make_interactive
from tests.unit.client.fake_http import Heard, Wire, fake_http, modern

FILE = str(Path(__file__).parents[2] / "peers" / "own_server.py")
URL = "http://127.0.0.1:1/mcp"


def dovetail(*words: str, command: list[str] | None = None) -> Result:
    return CliRunner().invoke(app, list(words), obj=command or [])


def test_a_url_is_a_target_whatever_it_ends_with() -> None:
    for url in (URL, "HTTPS://host/server.py"):
        assert find_target(url, [], TargetOptions()) == url


async def _refuse(heard: Heard, wire: Wire) -> None:
    if heard.verb == "POST" and heard.target == "/mcp":
        await wire.respond(401, b"", Www_Authenticate="Bearer")
    else:
        await wire.respond(404, b"")


def _refused(*words: str) -> Result:
    async def use() -> Result:
        async with fake_http(_refuse) as fake:
            return await asyncio.to_thread(dovetail, words[0], fake.url, *words[1:])

    result: Result = run(use())
    return result


def test_a_server_without_a_login_asks_for_a_key() -> None:
    result = _refused("list")
    assert result.exit_code == 4
    assert "needs a key or a token, and names no authorization server" in result.stderr
    assert "dovetail login" not in result.stderr
    assert "--token-env NAME" in result.stderr


def test_a_login_at_a_server_without_one_says_so() -> None:
    result = _refused("login", "--no-browser")
    assert result.exit_code == 1
    assert "There is no login at http://127.0.0.1:" in result.stderr
    assert "It probably takes a key" in result.stderr


def test_a_wrong_key_is_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "wrong")
    result = _refused("list", "--token-env", "MY_KEY")
    assert result.stderr.endswith("; check the key that you sent with --token-env or --header\n")


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


SECRET = "s3cr3t-canary"


def write(folder: Path, member: str = "mcpServers", **servers: Any) -> str:
    file = folder / "mcp.json"
    file.write_text(json.dumps({member: servers}))
    return str(file)


def test_a_server_is_started_with_its_environment_in_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOOD", "loud")
    (tmp_path / "inside").mkdir()
    entry = {
        "command": sys.executable,
        "args": ["-m", "dovetail", "run", FILE],
        "env": {"CHATTER": "${MOOD} ${env:MOOD} ${NOBODY_SET_THIS:-soft}"},
        "cwd": "inside",
    }
    config = write(tmp_path, own=entry)
    result = dovetail("call", "--config", config, "own", "chatter")
    assert result.stdout == f"loud loud soft in {(tmp_path / 'inside').resolve()}\n"
    # Options of the command line take precedence.
    words = ["--env", "CHATTER=calm", "--cwd", str(tmp_path)]
    result = dovetail("call", "--config", config, "own", "chatter", *words)
    assert result.stdout == f"calm in {tmp_path.resolve()}\n"


def test_a_url_gets_the_headers_of_the_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", SECRET)

    async def no_tools(heard: Heard, wire: Wire) -> None:
        await wire.result(heard, {"tools": [], "resultType": "complete"})

    async def use() -> tuple[Result, list[Heard]]:
        async with fake_http(modern({"tools/list": no_tools})) as fake:
            entry = {"type": "http", "url": fake.url, "headers": {"Authorization": "Bearer ${KEY}"}}
            config = write(tmp_path, "servers", web=entry)
            words = ("call", "--config", config, "web", "add", "-H", "X-Team: a")
            return await asyncio.to_thread(dovetail, *words), fake.heard

    result, heard = run(use())
    assert "The server has no tool 'add'" in result.stderr
    assert {each.headers["authorization"] for each in heard} == {f"Bearer {SECRET}"}
    assert {each.headers["x-team"] for each in heard} == {"a"}
    assert SECRET not in result.output


def test_no_error_shows_a_secret(tmp_path: Path) -> None:
    secrets = {"env": {"KEY": SECRET}}
    config = write(
        tmp_path,
        missing={"command": "no-such-command-anywhere", **secrets},
        crashing={"command": sys.executable, "args": ["-c", "raise SystemExit(3)"], **secrets},
        wrong={"command": ["a"], **secrets},
        closed={"url": "http://127.0.0.1:9/mcp", "headers": {"X-Key": SECRET}},
        broken={"url": "http://127.0.0.1:9/mcp", "headers": {"X-Key": f"{SECRET}\n"}},
        listed={"url": "http://127.0.0.1:9/mcp", "headers": [SECRET]},
    )
    for name in ("missing", "crashing", "wrong", "closed", "broken", "listed"):
        for words in (["list"], ["inspect"], ["call", "--json"]):
            rest = ["tool"] if words[0] == "call" else []
            result = dovetail(*words, "--config", config, name, *rest)
            assert result.exit_code in (2, 4), (name, result.output)
            assert SECRET not in result.output
            assert result.stderr.startswith("dovetail: ")


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        (None, "a", "cannot read"),
        ("{", "a", "is not valid JSON"),
        ("[]", "a", "has no object named mcpServers or servers"),
        ('{"mcpServers": {"b": {}}}', "a", "There is no server 'a' in {file!r}; it has: b"),
        ('{"mcpServers": {"b": {}}}', None, "Name a server in {file!r}; it has: b"),
        ('{"mcpServers": {"a": {}}}', "a", "the server 'a' needs 'command' or 'url'"),
        ('{"mcpServers": {"a": {"command": "x", "cwd": 1}}}', "a", "'cwd' of the server 'a'"),
        (
            '{"mcpServers": {"a": {"command": "x", "env": {"B": "${NOBODY_SET_THIS}"}}}}',
            "a",
            "a.env.B: the environment variable 'NOBODY_SET_THIS' is not set",
        ),
        ('{"servers": {"a": {"command": "${input:key}"}}}', "a", "${input:key} is only known"),
    ],
)
def test_a_wrong_file_is_explained(
    tmp_path: Path, text: str | None, name: str | None, told: str
) -> None:
    file = tmp_path / "mcp.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_entry(str(file), name)
    assert told.replace("{file!r}", repr(str(file))) in str(caught.value)


def test_a_command_and_a_file_exclude_each_other(tmp_path: Path) -> None:
    result = dovetail("list", "--config", write(tmp_path), command=["x"])
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr


def test_the_headers_of_a_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    async def use() -> None:
        async with fake_authority() as fake:
            assert await asyncio.to_thread(read_login_headers, fake.url) == {}
            auth = make_auth(fake.url)
            assert auth is not None
            await login(fake.url, make_interactive(Visitor(), store=auth.store))
            headers = await asyncio.to_thread(read_login_headers, fake.url)
            assert headers["Authorization"].startswith("Bearer ")
            assert await asyncio.to_thread(read_login_headers, f"{fake.origin}/other") == {}

    asyncio.run(use())


def test_no_token_is_sent_over_plain_http() -> None:
    assert make_auth("http://example.org/mcp") is None
    assert read_login_headers("http://example.org/mcp") == {}


def made_of(options: Any) -> tuple[click.Command, dict[str, Any]]:
    seen: dict[str, Any] = {}

    @click.command()
    @with_options(options)
    def command(**given: Any) -> None:
        seen.update(given)

    return command, seen


def test_env_needs_a_name_and_an_equals_sign() -> None:
    command, seen = made_of(REACH_OPTIONS)
    assert CliRunner().invoke(command, ["--env", "A=b=c", "--env", "D="]).exit_code == 0
    assert seen["env"] == {"A": "b=c", "D": ""}
    refused = CliRunner().invoke(command, ["--env", "=x"])
    assert refused.exit_code == 2 and "expected NAME=VALUE" in refused.output


@pytest.mark.parametrize("text", ["localhost:8000/mcp", "127.0.0.1:8000", "shop.example:80/a/b"])
def test_a_url_without_its_scheme_is_suggested(text: str) -> None:
    result = dovetail("list", text)
    assert result.exit_code == 2
    assert result.stderr == f"dovetail: {text!r} is no URL; did you mean http://{text}?\n"


def test_the_usual_path_is_suggested_for_a_url_without_one() -> None:
    async def answer(heard: Heard, wire: Wire) -> None:
        await wire.respond(404, b"")

    async def use() -> tuple[str, Result]:
        async with fake_http(answer) as fake:
            url = fake.url.removesuffix("/mcp")
            return url, await asyncio.to_thread(dovetail, "list", url)

    url, result = run(use())
    assert result.stderr.endswith(f"; the endpoint usually is {url}/mcp\n")


def test_a_file_is_called_as_the_local_user(tmp_path: Path) -> None:
    file = tmp_path / "counter.py"
    file.write_text(
        "from dovetail import Context, Server\n"
        "server = Server('counter')\n"
        "@server.tool\n"
        "async def count(ctx: Context) -> int:\n"
        "    number = await ctx.session_state.get('n', 0) + 1\n"
        "    await ctx.session_state.set('n', number)\n"
        "    return number\n"
        "@server.tool(scopes={'admin'})\n"
        "def wipe() -> str:\n"
        "    return 'wiped'\n"
    )
    assert dovetail("call", str(file), "count").stdout == "1\n"
    # The local user has no scopes, so --scope shows what a caller with scopes can do.
    assert "needs scopes: --as NAME --scope admin" in dovetail("call", str(file), "wipe").stderr


GATEWAY = """
from dovetail import Proxy, Server

server = Server("front")
server.mount(Proxy(["false"], name="shop"), prefix="shop")


@server.tool
def here() -> str:
    return "here"
"""


def test_upstreams_that_are_unavailable_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "front.py"
    file.write_text(GATEWAY)
    listed = dovetail("list", str(file))
    assert "here()" in listed.stdout
    assert "The upstream 'shop' is unavailable: " in listed.stderr
    assert "shop" in json.loads(dovetail("list", str(file), "--json").stdout)["unavailable"]
    called = dovetail("call", str(file), "shop_hello")
    assert "no tool 'shop_hello'" in called.stderr
    assert "The upstream 'shop' is unavailable: " in called.stderr
