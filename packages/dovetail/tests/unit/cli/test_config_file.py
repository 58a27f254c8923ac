"""Targets from a configuration file."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dovetail.cli.app import app
from dovetail.cli.targets import read_entry
from dovetail.errors import UsageError
from tests.peers.scripted import run
from tests.unit.client.fake_http import Heard, Wire, fake_http, modern

FILE = str(Path(__file__).parents[2] / "peers" / "own_server.py")
SECRET = "s3cr3t-canary"


def write(folder: Path, member: str = "mcpServers", **servers: Any) -> str:
    file = folder / "mcp.json"
    file.write_text(json.dumps({member: servers}))
    return str(file)


def dovetail(*words: str, command: list[str] | None = None) -> Result:
    return CliRunner().invoke(app, list(words), obj=command or [])


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
