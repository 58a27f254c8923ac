from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from dovetail_console.saved_calls import SavedCall, write_test
from dovetail_console.workers import ServerFacts
from tests.console.pages import browse, make_server, token_of
from tests.patience import CAP

SOURCE = """
from dovetail import Server

server = Server("shop", version="1")

@server.tool
def add(a: int, b: int) -> int:
    return a + b

@server.tool
def fail(text: str) -> str:
    raise ValueError(text)
"""
URL = "http://127.0.0.1:8000/mcp"


def make_call(**given: Any) -> SavedCall:
    return SavedCall(**{"server": "shop", "tool": "add", "revision": "2025-11-25", **given})


def make_shown(**given: Any) -> ServerFacts:
    return ServerFacts(**{"name": "shop", "url": URL, "target": URL, **given})


def run_test(source: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "test_saved.py"
    file.write_text(source)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=CAP, check=False
    )


@pytest.mark.slow
def test_a_saved_call_runs_and_notices_another_result(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text(SOURCE)
    shown = make_shown(file=str(file))
    result: dict[str, Any] = {"content": [], "structuredContent": {"result": 3}}
    good = write_test(make_call(arguments={"a": 1, "b": 2}, result=result), shown)
    done = run_test(good, tmp_path)
    assert done.returncode == 0, done.stdout
    wrong = write_test(make_call(arguments={"a": 2, "b": 2}, result=result), shown)
    assert run_test(wrong, tmp_path).returncode == 1


def test_names_and_texts_of_a_server_never_become_code() -> None:
    evil = '");import os;os.abort()#\n\'\'\'"""'
    call = make_call(
        tool=evil,
        arguments={evil: evil},
        result={"content": [{"type": "text", "text": evil}], "isError": True},
    )
    source = write_test(call, make_shown())
    names: dict[str, Any] = {"__name__": "saved"}
    exec(compile(source, "saved", "exec"), names)
    assert names["ARGUMENTS"] == {evil: evil}
    assert names["TEXT"] == evil
    [test] = [name for name in names if name.startswith("test_")]
    assert test.isidentifier()
    assert "is_error is True" in source


def test_a_tool_without_a_plain_name_has_a_test_too() -> None:
    source = write_test(make_call(tool="日本", result={}), make_shown())
    assert "def test_call()" in source


def test_the_target_is_the_command_or_url_of_a_target() -> None:
    started = make_shown(command=("npx", "every"))
    assert "TARGET = ['npx', 'every']" in write_test(make_call(result={}), started)
    remote = make_shown(url="https://a.example/mcp")
    assert "TARGET = 'https://a.example/mcp'" in write_test(make_call(result={}), remote)
    assert f"TARGET = {URL!r}" in write_test(make_call(result={}), make_shown())


@pytest.mark.parametrize(
    "body",
    [
        {"server": "shop"},
        {"server": "shop", "tool": 1, "revision": "2025-11-25", "result": {}},
        {"server": "shop", "tool": "add", "revision": "x", "result": {}},
        {"server": "none", "tool": "add", "revision": "2025-11-25", "result": {}},
    ],
)
def test_a_wrong_call_is_refused(body: Any) -> None:
    async def use(client: httpx.AsyncClient) -> int:
        headers = await token_of(client)
        return (await client.post("/console/api/test", json=body, headers=headers)).status_code

    assert browse(make_server().http_app(console=True), use) == 400


def test_the_api_returns_python() -> None:
    body = {
        "server": "shop",
        "tool": "add",
        "revision": "2025-11-25",
        "arguments": {},
        "result": {"content": []},
    }

    async def use(client: httpx.AsyncClient) -> httpx.Response:
        headers = await token_of(client)
        return await client.post("/console/api/test", json=body, headers=headers)

    answer = browse(make_server().http_app(console=True), use)
    assert answer.headers["content-type"].startswith("text/x-python")
    assert 'filename="test_add.py"' in answer.headers["content-disposition"]
    compile(answer.text, "saved", "exec")
