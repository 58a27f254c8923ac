"""Every server of the cookbook runs, and a real client gets what its page promises."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, closing, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from dovetail import Client
from dovetail.auth import KeyFile
from dovetail.client.auth import ClientCredentials, MemoryStore, OAuth
from dovetail.errors import DovetailError
from tests.cluster.redis_server import running_redis
from tests.contracts.source_tree import ROOT
from tests.deep.auth.processes import Provider
from tests.patience import CAP, wait_until

FOLDER = ROOT / "examples" / "cookbook"
PAGES = ROOT / "docs" / "cookbook"
SERVERS = sorted(file.name for file in FOLDER.glob("*.py"))
READY = re.compile(r"serving (http://\S+/mcp)")

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    async def within_cap() -> T:
        async with asyncio.timeout(CAP):
            return await work

    return asyncio.run(within_cap())


def open_client(file: str, env: Mapping[str, object] | None = None, **options: Any) -> Client:
    """A client of a server in a process of its own, over stdio."""
    given = {name: str(value) for name, value in (env or {}).items()}
    return Client(str(FOLDER / file), env=given, timeout=CAP, **options)


@contextmanager
def serving(file: str, *words: str, env: Mapping[str, object], folder: Path) -> Iterator[str]:
    """The URL of a server that `dovetail run` serves over HTTP."""
    command = [sys.executable, "-m", "dovetail", "run", str(FOLDER / file), *words]
    log = folder / f"{file.partition('.')[0]}.log"
    with (
        log.open("wb") as printed,
        subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **{name: str(value) for name, value in env.items()}},
            stdin=subprocess.DEVNULL,
            stderr=printed,
        ) as process,
    ):
        try:
            wait_until(lambda: READY.search(log.read_text("utf-8")) or process.poll() is not None)
            found = READY.search(log.read_text("utf-8"))
            assert found is not None, log.read_text("utf-8")
            yield found[1]
        finally:
            process.terminate()
            process.wait(CAP)


class Api(ThreadingHTTPServer):
    """A REST API: a dict from method and path to status and JSON, and the requests that came."""

    daemon_threads = True

    def __init__(self, answers: dict[str, tuple[int, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), _ApiHandler)
        self.answers = answers
        self.requests: list[tuple[str, str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _ApiHandler(BaseHTTPRequestHandler):
    server: Api

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        line = f"{self.command} {self.path}"
        self.server.requests.append((line, self.headers.get("authorization")))
        status, body = self.server.answers.get(line, (404, {"message": "not found"}))
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = _answer

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serving_api(answers: dict[str, tuple[int, Any]]) -> Iterator[Api]:
    with Api(answers) as api:
        thread = threading.Thread(target=partial(api.serve_forever, poll_interval=0.01))
        thread.start()
        try:
            yield api
        finally:
            api.shutdown()
            thread.join(CAP)


# -- the pages ----------------------------------------------------------------------------------


def test_every_server_has_a_page_that_includes_it() -> None:
    included = sorted(
        name
        for page in PAGES.glob("*.md")
        for name in re.findall(r'^--8<-- "examples/cookbook/(.+)"$', page.read_text("utf-8"), re.M)
    )
    assert included == SERVERS
    assert len(SERVERS) == 10


# -- the servers --------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "shop.sqlite3"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE tea (name TEXT, price REAL)")
        rows = [("Assam", 4.5), ("Sencha", 6.0), ("Earl Grey", 5.0)]
        connection.executemany("INSERT INTO tea VALUES (?, ?)", rows)
    return path


def test_sql_database(database: Path) -> None:
    async def use() -> None:
        async with open_client("sql_database.py", {"DATABASE": database, "SECONDS": 1}) as client:
            assert list((await client.call("tables")).data) == ["tea"]
            sql = "SELECT name FROM tea WHERE price > ? ORDER BY price DESC"
            rich = await client.call("query", {"sql": sql, "parameters": [4], "limit": 2})
            assert rich.data == {
                "columns": ["name"],
                "rows": [["Sencha"], ["Earl Grey"]],
                "truncated": True,
            }
            for wrong, why in (
                ("DELETE FROM tea", "attempt to write a readonly database"),
                ("ATTACH 'other.sqlite3' AS other", "too many attached databases"),
                ("SELECT zeroblob(2000000)", "too big"),
                ("SELECT * FROM coffee", "no such table: coffee"),
                ("SELECT 1; SELECT 2", "one statement at a time"),
            ):
                failed = await client.call("query", {"sql": wrong})
                assert failed.is_error and why in failed.text, failed.text
            endless = (
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                "SELECT count(*) FROM n"
            )
            late = await client.call("query", {"sql": endless})
            assert late.text == "The query took longer than 1 seconds. Ask for less."
            assert (await client.call("query", {"sql": "SELECT 1", "limit": 5000})).is_error

    run(use())
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT count(*) FROM tea").fetchone() == (3,)


def test_a_database_that_is_missing_is_an_error_for_the_model(tmp_path: Path) -> None:
    async def use() -> None:
        async with open_client("sql_database.py", {"DATABASE": tmp_path / "none"}) as client:
            assert (await client.call("tables")).text == "SQLite: unable to open database file"

    run(use())
    assert not (tmp_path / "none").exists()


def test_rest_api() -> None:
    one = {"number": 1, "title": "It rains", "state": "open", "body": "very long"}
    answers = {
        "GET /issues?state=open&page=1": (200, [one]),
        "GET /issues/1": (200, one),
        "GET /issues/2": (500, {"message": "out of order"}),
        "POST /issues": (201, {"number": 3, "title": "New", "state": "open"}),
    }

    async def use(api: Api) -> None:
        env = {"ISSUES_URL": api.url, "ISSUES_TOKEN": "s3cret"}
        async with open_client("rest_api.py", env) as client:
            short = {"number": 1, "title": "It rains", "state": "open"}
            for _ in range(2):  # the second one comes from the cache
                assert (await client.call("list_issues")).data == [short]
            assert (await client.call("get_issue", {"number": 1})).data == short
            gone = await client.call("get_issue", {"number": 9})
            assert gone.text == "There is no such issue. Call list_issues for the numbers."
            broken = await client.call("get_issue", {"number": 2})
            assert broken.text.startswith("The API refused the request: 500 ")
            assert (await client.call("create_issue", {"title": "New"})).data["number"] == 3

    with serving_api(answers) as api:
        run(use(api))
    assert [line for line, _ in api.requests].count("GET /issues?state=open&page=1") == 1
    assert {token for _, token in api.requests} == {"Bearer s3cret"}


def test_files(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.md").write_text("Tea\nand cake\n", "utf-8")
    (folder / "sub" / "b c.txt").write_text("green TEA", "utf-8")
    (folder / ".hidden").write_text("tea", "utf-8")
    (tmp_path / "secret.txt").write_text("tea", "utf-8")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")

    async def use() -> None:
        async with open_client("files.py", {"FOLDER": folder}) as client:
            assert (await client.call("list_files")).data == ["a.md", "sub/b c.txt"]
            assert (await client.call("list_files", {"pattern": "*.md"})).data == ["a.md"]
            assert (await client.call("read_file", {"path": "a.md"})).text == "Tea\nand cake\n"
            assert (await client.call("read_file", {"path": "a.md", "offset": 4})).text == (
                "and cake\n"
            )
            found = (await client.call("search", {"text": "tea"})).data
            assert [(match["path"], match["line"]) for match in found] == [
                ("a.md", 1),
                ("sub/b c.txt", 1),
            ]
            for path in ("../secret.txt", "link.txt", str(tmp_path / "secret.txt"), "sub"):
                refused = await client.call("read_file", {"path": path})
                assert refused.is_error and "There is no file" in refused.text
            uris = [resource.uri for resource in await client.list_resources()]
            assert uris == ["files:///a.md", "files:///sub/b%20c.txt"]
            assert (await client.read(uris[1])).text == "green TEA"
            with pytest.raises(DovetailError):
                await client.read("files:///../secret.txt")

    run(use())


def test_long_job(tmp_path: Path) -> None:
    env = {"TASKS": tmp_path / "tasks.sqlite3", "LETTERS": tmp_path / "letters"}
    names = [f"person-{number}" for number in range(30)]

    async def begin() -> str:
        async with open_client("long_job.py", env) as client:
            task = await client.start("send_letters", {"names": names})
            async for state in task.updates():
                if state.message:  # some letters are written
                    return task.id
        raise AssertionError("the job ended without progress")

    async def finish(id: str) -> str:
        async with open_client("long_job.py", env) as client:
            task = await client.task(id, "send_letters")
            return (await task.result(timeout=CAP)).text

    async def call_at_once() -> str:
        async with open_client("long_job.py", env, mode="2025-06-18") as client:
            return (await client.call("send_letters", {"names": ["Ada"]})).text

    assert run(finish(run(begin()))) == "30 letters in letters"
    assert len(list((tmp_path / "letters").iterdir())) == 30
    # At most the step that was under way when the first process ended ran twice.
    written = [path.read_text("utf-8").count("Dear") for path in (tmp_path / "letters").iterdir()]
    assert sum(written) <= 31
    assert run(call_at_once()) == "1 letters in letters"


@pytest.mark.parametrize("mode", ["legacy", "modern"])
def test_form(mode: str) -> None:
    asked: list[str] = []

    async def use(*answers: Any) -> str:
        given = iter(answers)

        def answer(request: Any) -> Any:
            asked.append(request.message)
            return next(given)

        async with open_client("form.py", mode=mode, elicit=answer) as client:
            return (await client.call("book_table", {"name": "Ada"})).text

    form = {"day": "2027-03-01", "guests": 2, "diet": ["vegan"]}
    assert run(use(form)) == "Ada: 2 in the hall on 01 March 2027, vegan"
    assert asked == ["A table for Ada:"]
    assert "did not fill in the form (decline)" in run(use(None))
    large = {"day": "2027-03-01", "guests": 8, "room": "garden"}
    assert run(use(large, {"confirm": "no"})) == "Nothing was booked."
    assert run(use(large, {"confirm": "yes"})) == "Ada: 8 in the garden on 01 March 2027"


def find_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def test_oauth(tmp_path: Path) -> None:
    folder = tmp_path / "provider"
    folder.mkdir()
    provider = Provider(folder)
    provider.start()
    port = find_port()
    resource = f"http://127.0.0.1:{port}/mcp"
    auth = OAuth(
        client_id="robot",
        client_secret="robot-secret",
        grant=ClientCredentials(),
        store=MemoryStore(),
    )

    async def use(url: str) -> None:
        async with Client(url, auth=auth, timeout=CAP) as client:
            assert (await client.call("list_notes")).data == []
            # The first token has only notes:read; the client asks for more when it is told to.
            assert (await client.call("add_note", {"text": "Buy tea"})).data == 1
            assert (await client.call("list_notes")).data == ["Buy tea"]
        with pytest.raises(DovetailError):
            async with Client(url, timeout=CAP) as client:
                await client.list_tools()

    env = {"ISSUER": provider.issuer, "RESOURCE": resource}
    try:
        with serving("oauth.py", "--http", str(port), env=env, folder=tmp_path) as url:
            assert url == resource
            run(use(url))
    finally:
        provider.stop()


def test_redis_cluster(tmp_path: Path) -> None:
    _, key = KeyFile(tmp_path / "keys.json").add("anna")
    dovetail = [sys.executable, "-m", "dovetail"]
    made = subprocess.run([*dovetail, "keys", "state"], stdout=subprocess.PIPE, check=True)
    (tmp_path / "state.keys").write_bytes(made.stdout)
    headers = {"authorization": f"Bearer {key}"}

    async def use(url: str, mode: str) -> None:
        items: list[str] = []
        processes: set[int] = set()
        async with AsyncExitStack() as clients:
            # The supervisor gives a new connection to the worker that has the fewest.
            while len(processes) < 2:
                client = await clients.enter_async_context(
                    Client(url, headers=headers, mode=mode, timeout=CAP)
                )
                processes.add((await client.call("which_process")).data)
                items.append(f"item {len(items)}")
                added = await client.call("add", {"item": items[-1]})
                assert added.data == items
                # The second worker may still be starting, and the server limits the rate.
                await asyncio.sleep(0.1)
            task = await client.start("order")
            ordered = await task.result(timeout=CAP)
            assert ordered.text == f"order of {len(items)} items"

    with running_redis(tmp_path / "redis") as redis:
        env = {
            "KEYS": tmp_path / "keys.json",
            "DOVETAIL_CLUSTER": redis.url,
            "DOVETAIL_STATE_KEYS_FILE": tmp_path / "state.keys",
        }
        words = ["--http", "0", "--workers", "2"]
        with serving("redis_cluster.py", *words, env=env, folder=tmp_path) as url:
            for mode in ("2025-11-25", "2026-07-28"):
                run(use(url, mode))


def test_gateway(tmp_path: Path, database: Path) -> None:
    (tmp_path / "handbook.md").write_text("Lunch is at noon.\n", "utf-8")

    async def use() -> None:
        env = {"FOLDER": tmp_path, "DATABASE": database}
        async with open_client("gateway.py", env) as client:
            tools = {tool.name: tool for tool in await client.list_tools()}
            assert sorted(tools) == [
                "files_list_files",
                "files_read_file",
                "files_search",
                "opening_hours",
                "shop_ask",
            ]
            assert tools["files_search"].description == "Search the handbook of the office."
            assert "limit" not in tools["shop_ask"].input_schema["properties"]
            found = await client.call("files_search", {"text": "lunch"})
            assert found.data[0]["path"] == "handbook.md"
            counted = await client.call("shop_ask", {"sql": "SELECT count(*) FROM tea"})
            assert counted.data["rows"] == [[3]]
            assert "9 to 17" in (await client.call("opening_hours")).text

    run(use())


def test_openapi_import() -> None:
    answers = {
        "GET /pets?kind=cat": (200, {"names": ["Tom"]}),
        "GET /pets/Tom": (200, {"kind": "cat"}),
    }

    async def use(api: Api) -> None:
        env = {"PETS_URL": api.url, "PETS_TOKEN": "s3cret"}
        async with open_client("openapi_import.py", env) as client:
            assert [tool.name for tool in await client.list_tools()] == ["list_pets", "get_pet"]
            assert (await client.call("list_pets", {"kind": "cat"})).data == {"names": ["Tom"]}
            assert (await client.call("get_pet", {"name": "Tom"})).data == {"kind": "cat"}
            missing = await client.call("get_pet", {"name": "Rex"})
            assert missing.is_error and "404" in missing.text
            assert "Tom" in str(await client.get_prompt("introduce", {"name": "Tom"}))

    with serving_api(answers) as api:
        run(use(api))
    assert api.requests[:2] == [
        ("GET /pets?kind=cat", None),
        ("GET /pets/Tom", "Bearer s3cret"),
    ]


def test_from_fastmcp(tmp_path: Path) -> None:
    async def use(url: str) -> None:
        async with Client(url, timeout=CAP) as client:
            assert [tool.name for tool in await client.list_tools()] == [
                "find",
                "lend",
                "cafe_menu",
            ]
            assert (await client.call("find", {"text": "m"})).data == ["Emma", "Middlemarch"]
            assert (await client.call("lend", {"book": "1"})).text == "Dune for 14 days"
            assert (await client.call("lend", {"book": "9"})).text == "There is no book 9"
            assert (await client.call("cafe_menu")).data == ["tea", "cake"]
            assert (await client.read("library://books/2")).text == "Emma"

    with serving("from_fastmcp.py:mcp", "--http", "0", env={}, folder=tmp_path) as url:
        run(use(url))
        parts = urlsplit(url)
        with urlopen(f"http://{parts.netloc}/health", timeout=CAP) as response:
            assert response.read() == b"ok"


def test_the_lines_of_fastmcp_in_the_comments_are_real() -> None:
    # tests/deep/docs/test_coming_from_fastmcp.py runs the server on this page with FastMCP.
    page = (ROOT / "docs" / "coming_from_fastmcp.md").read_text("utf-8").splitlines()
    text = (FOLDER / "from_fastmcp.py").read_text("utf-8")
    old = re.findall(r"^\s*# ((?:from fastmcp\S* import|await|mcp\.mount) ?.+)$", text, re.M)
    assert len(old) == 6
    assert [line for line in old if line not in {each.strip() for each in page}] == []
