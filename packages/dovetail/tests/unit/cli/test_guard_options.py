"""The guard options of `dovetail run`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dovetail.auth.key_file import KeyFile
from dovetail.cli.app import app

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
