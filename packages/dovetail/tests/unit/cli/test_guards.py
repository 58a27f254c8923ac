"""The guard of the server and the guard options of `dovetail run`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dovetail.auth import Guard, GuardSettings
from dovetail.auth.api_keys import KeyFile
from dovetail.cli.app import app
from dovetail.cli.loading import Loaded, choose_guard, load
from dovetail.errors import UsageError
from tests.patience import CAP

HEAD = """
from dovetail import Server
from dovetail.auth import Guard

guard = Guard(read_only=True)
server = Server("shop")
"""
UNUSED = "the guard 'guard' in '{}' is not used; pass it as Server(guard=guard)"


def load_text(folder: Path, text: str) -> Loaded:
    file = folder / "shop.py"
    file.write_text(HEAD + text, "utf-8")
    return load(f"{file}:{'app' if 'app =' in text else 'server'}")


def test_a_guard_that_nothing_uses_is_a_warning_unless_options_replace_it(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, "")
    for over_http in (True, False):
        guard, warnings = choose_guard(loaded, GuardSettings(), over_http=over_http)
        assert guard is None
        assert warnings == [UNUSED.format(loaded.source)]
    guard, warnings = choose_guard(loaded, GuardSettings(rate="1/s"), over_http=True)
    assert isinstance(guard, Guard)
    assert warnings == []


def test_the_guard_of_the_server_is_used(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, "server.guard = guard\n")
    assert choose_guard(loaded, GuardSettings(), over_http=False) == (None, [])
    with pytest.raises(UsageError, match=r"has its own guard, so --read-only, --rate cannot be"):
        choose_guard(loaded, GuardSettings(read_only=True, rate="1/s"), over_http=False)


def test_the_guard_of_an_application_is_used_over_http_only(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, "app = server.http_app(guard=guard)\n")
    assert choose_guard(loaded, GuardSettings(), over_http=True) == (None, [])
    _, warnings = choose_guard(loaded, GuardSettings(), over_http=False)
    assert warnings == [UNUSED.format(loaded.source)]


def test_dovetail_run_warns_and_refuses(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, "")
    command = [sys.executable, "-m", "dovetail", "run", loaded.source]
    done = subprocess.run(
        command, input="", capture_output=True, text=True, timeout=CAP, check=False
    )
    assert done.returncode == 0
    assert done.stderr == f"Warning: {UNUSED.format(loaded.source)}\n"
    load_text(tmp_path, "server.guard = guard\n")
    for words in (["--rate", "1/s"], ["--rate", "1/s", "--http", "0"]):
        done = subprocess.run(
            [*command, *words], input="", capture_output=True, text=True, timeout=CAP, check=False
        )
        assert done.returncode == 2
        assert "has its own guard, so --rate cannot be applied" in done.stderr


SERVER = """
from dovetail import Context, Server, ToolAnnotations

server = Server("notes")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def who(ctx: Context) -> str:
    return f"{ctx.principal.id} {sorted(ctx.principal.scopes)} {ctx.principal.trusted}"


@server.tool(scopes={"write"})
def write() -> str:
    return "written"
"""
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--key-header", "X"], "--key-header requires --keys"),
        (["--issuer", "https://a"], "--issuer and --resource must be used together"),
        (["--resource", "https://a"], "--issuer and --resource must be used together"),
    ],
)
def test_options_that_need_another_one_are_refused(
    tmp_path: Path, options: list[str], said: str
) -> None:
    result = CliRunner().invoke(app, ["run", str(tmp_path / "notes.py"), *options], obj=[])
    assert result.exit_code == 2
    assert result.stderr == f"dovetail: {said}\n"


def serve(
    tmp_path: Path, *options: str, call: str = "who", **environment: str
) -> subprocess.CompletedProcess[str]:
    """`dovetail run` on stdio, one call, and what it says."""
    file = tmp_path / "notes.py"
    file.write_text(SERVER)
    params = {"name": call, "arguments": {}, "_meta": META}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": META}},
    ]
    return subprocess.run(
        [sys.executable, "-m", "dovetail", "run", str(file), *options],
        input="".join(json.dumps(line) + "\n" for line in lines),
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", **environment},
        check=False,
    )


def answers(ended: subprocess.CompletedProcess[str]) -> tuple[Any, list[str]]:
    said = {line["id"]: line for line in map(json.loads, ended.stdout.splitlines())}
    return said[1], [tool["name"] for tool in said[2]["result"]["tools"]]


def test_on_stdio_the_owner_of_the_process_is_trusted(tmp_path: Path) -> None:
    called, listed = answers(serve(tmp_path))
    assert called["result"]["content"][0]["text"] == "local [] True"
    assert listed == ["who", "write"]


def test_on_stdio_the_environment_sets_the_principal(tmp_path: Path) -> None:
    named = {"DOVETAIL_PRINCIPAL": "bert", "DOVETAIL_SCOPES": "x"}
    audit = tmp_path / "audit.jsonl"
    called, listed = answers(serve(tmp_path, f"--audit={audit}", **named))
    assert called["result"]["content"][0]["text"] == "bert ['x'] False"
    assert listed == ["who"]
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [(line["principal"], line["transport"]) for line in lines] == [("bert", "stdio")] * 2


def test_on_stdio_a_key_in_the_environment_is_checked(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    record, key = file.add("anna", ["write"])
    option = f"--keys={file.path}"
    called, _ = answers(serve(tmp_path, option, DOVETAIL_API_KEY=key))
    assert called["result"]["content"][0]["text"] == f"key:{record.id} ['write'] False"
    ended = serve(tmp_path, option, DOVETAIL_API_KEY="dtk_wrong")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "dovetail: DOVETAIL_API_KEY: unknown key\n"


def test_a_server_may_be_read_only(tmp_path: Path) -> None:
    called, listed = answers(serve(tmp_path, "--read-only", call="write"))
    assert called["error"]["message"] == "Unknown tool: 'write'; there is: 'who'"
    assert listed == ["who"]


def test_a_missing_key_file_is_one_line(tmp_path: Path) -> None:
    ended = serve(tmp_path, "--keys=nowhere.json")
    assert ended.returncode == 2
    assert "no such file" in ended.stderr
    ended = serve(tmp_path, "--key-header=X")
    assert "requires --keys" in ended.stderr
