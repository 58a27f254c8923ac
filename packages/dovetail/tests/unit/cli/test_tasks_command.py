"""`dovetail tasks`: its output, and cancelling a task of another process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dovetail.cli.app import app
from dovetail.cli.loading import load_server
from dovetail.wire import codec
from tests.unit.talk import MODERN, answer

SERVER = """
import asyncio
from pathlib import Path
from dovetail import Options, Server

file = Path(__file__).with_name("t.sqlite3")
server = Server("site", options=Options(state=f"sqlite:///{file}"))
brief = Server("brief", options=Options(state="memory://"))

@server.tool(task="required")
async def dig(what: str) -> str:
    if what == "forever":
        await asyncio.Event().wait()
    return what
"""
KNOWS: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


@pytest.fixture
def file(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "site.py"
    path.write_text(SERVER, "utf-8")
    places, modules = list(sys.path), set(sys.modules)
    yield str(path)
    sys.path[:] = places
    for name in set(sys.modules) - modules:
        if name.startswith("dovetail_file_"):
            del sys.modules[name]


def dovetail(*words: str) -> Result:
    return CliRunner().invoke(app, list(words), obj=[])


async def request(server: Any, method: str, params: dict[str, Any]) -> dict[str, Any]:
    response = await answer(server, method, params, revision=MODERN, capabilities=KNOWS)
    result: dict[str, Any] = response["result"]
    return result


async def make(server: Any, what: str) -> str:
    call = {"name": "dig", "arguments": {"what": what}}
    return str((await request(server, "tools/call", call))["taskId"])


async def status_of(server: Any, id: str) -> str:
    return str((await request(server, "tasks/get", {"taskId": id}))["status"])


def test_tasks_are_listed_and_cancelled_while_the_server_runs(file: str) -> None:
    async def scenario() -> None:
        server = load_server(f"{file}:server")
        await server.start()
        over, id = await make(server, "little"), await make(server, "forever")
        while await status_of(server, over) == "working":
            await asyncio.sleep(0.01)
        shown = await asyncio.to_thread(dovetail, "tasks", f"{file}:server")
        assert shown.exit_code == 0, shown.output
        [head, line] = shown.stdout.splitlines()
        assert head.split() == ["ID", "TOOL", "STATUS", "AGE", "OWNER"]
        assert line.split()[:3] == [id[:12], "dig", "working"]
        everything = await asyncio.to_thread(dovetail, "tasks", f"{file}:server", "--all", "--json")
        listed = codec.decode_json(everything.stdout.encode())
        assert [(row["id"], row["status"]) for row in listed] == [
            (over, "completed"),
            (id, "working"),
        ]
        ended = await asyncio.to_thread(dovetail, "tasks", f"{file}:server", "--cancel", id[:12])
        assert "cancelled by the operator" in ended.stdout
        while server._tasks.keeper._live:  # until the process that runs it has found out
            await asyncio.sleep(0.01)
        assert await status_of(server, id) == "cancelled"
        again = await asyncio.to_thread(dovetail, "tasks", f"{file}:server", "--cancel", id)
        assert (again.exit_code, "has already ended" in again.stderr) == (1, True)
        await server.close()
        none = await asyncio.to_thread(dovetail, "tasks", f"{file}:server")
        assert none.stdout == "No tasks.\n"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["nowhere.py"], 2, "There is no file"),
        ([":brief"], 2, "keeps its tasks in memory"),
        ([":server"], 1, "has no tasks yet"),
    ],
)
def test_errors_are_explained(file: str, words: list[str], code: int, text: str) -> None:
    target = f"{file}{words[0]}" if words[0].startswith(":") else words[0]
    result = dovetail("tasks", target)
    assert (result.exit_code, text in result.stderr) == (code, True)


def test_broken_files_and_databases_are_reported(file: str) -> None:
    Path(file).with_name("t.sqlite3").write_text("no database at all", "utf-8")
    result = dovetail("tasks", f"{file}:server")
    assert (result.exit_code, "cannot be used" in result.stderr) == (4, True)
    Path(file).write_text("1 / 0", "utf-8")
    result = dovetail("tasks", file)
    assert (result.exit_code, "ZeroDivisionError" in result.stderr) == (4, True)


def test_an_id_must_match_one_task(file: str) -> None:
    async def scenario() -> None:
        server = load_server(f"{file}:server")
        await make(server, "little")
        await server.close()

    asyncio.run(scenario())
    result = dovetail("tasks", f"{file}:server", "--cancel", "%")
    assert (result.exit_code, "0 tasks have an id" in result.stderr) == (2, True)
