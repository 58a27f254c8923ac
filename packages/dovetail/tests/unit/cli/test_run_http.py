"""`dovetail run FILE --http`, as a user types it: the options, what it says, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner, Result

from dovetail import Server
from dovetail.cli import serving
from dovetail.cli.app import app
from dovetail.cli.serving import HttpRun, parse_address, run_http
from dovetail.errors import TransportError, UsageError
from dovetail.transports import serve_http
from dovetail.transports.http_server import bind

SERVER = """
from dovetail import Server

server = Server("counter")


@server.tool
async def version() -> str:
    return "{}"
"""
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
MODERN = {**JSON, "mcp-protocol-version": "2026-07-28"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "counter.py"
    path.write_text(SERVER.format("one"), "utf-8")
    return path


class Running:
    """A server in a process of its own, and what it has said so far."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self.process = process
        self._log = log
        self.url = self.wait_for(r"serving (http://\S+);")

    @property
    def said(self) -> str:
        return self._log.read_text("utf-8")

    def wait_for(self, pattern: str) -> str:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if found := re.search(pattern, self.said):
                return found[found.re.groups]
            assert self.process.poll() is None, self.said
            time.sleep(0.02)
        raise AssertionError(f"never said {pattern!r}:\n{self.said}")

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=10)

    def post(self, method: str, headers: dict[str, str], **params: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        with contextlib.closing(self.connect()) as connection:
            connection.request("POST", urlsplit(self.url).path, json.dumps(message), headers)
            response = connection.getresponse()
            return {"headers": response.headers, **json.loads(response.read())}

    def call(self) -> str:
        headers = {**MODERN, "mcp-method": "tools/call", "mcp-name": "version"}
        answer = self.post("tools/call", headers, name="version", arguments={}, _meta=META)
        text: str = answer["result"]["content"][0]["text"]
        return text

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(8)


@contextlib.contextmanager
def run(file: Path, *words: str) -> Iterator[Running]:
    log = file.parent / "said.txt"
    command = [sys.executable, "-m", "dovetail", "run", str(file), "--http", *words]
    with (
        log.open("w") as stderr,
        subprocess.Popen(command, stderr=stderr, stdin=subprocess.DEVNULL, text=True) as process,
    ):
        try:
            yield Running(process, log)
        finally:
            if process.poll() is None:
                process.kill()


def dovetail(*words: str) -> Result:
    return CliRunner().invoke(app, ["run", *words], obj=[])


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("8000", ("127.0.0.1", 8000)),
        ("0", ("127.0.0.1", 0)),
        ("0.0.0.0:80", ("0.0.0.0", 80)),
        ("localhost:65535", ("localhost", 65535)),
        ("[::1]:8000", ("::1", 8000)),
    ],
)
def test_an_address_is_a_port_with_or_without_a_host(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "x", ":80", "a:b:80", "::1:80", "65536", "h:", "[]:8", "-1"])
def test_anything_else_is_no_address(text: str) -> None:
    with pytest.raises(UsageError, match="expected PORT or HOST:PORT"):
        parse_address(text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--workers", "2", "--stateless"], "--stateless, --workers: only together with --http"),
        (["--http", "eighty"], "expected PORT or HOST:PORT"),
        (["--http", "0", "--path", "mcp"], "--path must begin with a slash"),
        (["--http", "0", "--reload", "--workers", "2"], "--reload watches one process"),
        (["--http", "0", "--workers", "0"], "Invalid value for '--workers'"),
        (["--http", "0", "--http-parser", "x"], "Invalid value for '--http-parser'"),
    ],
)
def test_a_command_line_that_makes_no_sense_ends_with_2(
    file: Path, words: list[str], said: str
) -> None:
    result = dovetail(str(file), *words)
    assert result.exit_code == 2
    assert said in result.stderr


def test_every_option_arrives(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, HttpRun]] = []

    def note(file: str, given: HttpRun) -> int:
        seen.append((file, given))
        return 0

    monkeypatch.setattr(serving, "run_http", note)
    words = "--http [::1]:9 --path /x --allow-host a --allow-host b --allow-origin https://c"
    more = "--stateless --workers 3 --http-parser h11 --worker 5,6"
    assert dovetail(str(file), *words.split(), *more.split()).exit_code == 0
    expected = HttpRun(
        host="::1",
        port=9,
        path="/x",
        allow_hosts=("a", "b"),
        allow_origins=("https://c",),
        stateless=True,
        workers=3,
        parser="h11",
        worker=(5, 6),
    )
    assert seen == [(str(file), expected)]


def test_an_address_in_use_is_one_line_and_4(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        for workers in (1, 2):
            assert run_http(str(file), HttpRun(port=port, workers=workers)) == 4
            said = capsys.readouterr().err
            assert said == f"dovetail: Cannot listen on 127.0.0.1:{port}: Address already in use\n"


def test_a_host_that_is_not_ours_is_told() -> None:
    with pytest.raises(TransportError, match=r"Cannot listen on nowhere\.invalid: "):
        bind("nowhere.invalid", 0)


def test_events_do_not_wait_for_acknowledgements() -> None:
    with bind("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_a_program_ends_its_server_by_cancelling_it() -> None:
    left: list[str] = []

    @contextlib.asynccontextmanager
    async def lifespan(_: Server) -> AsyncIterator[None]:
        yield
        left.append("lifespan")

    async def serve() -> None:
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        server = Server("short", lifespan=lifespan)
        task = asyncio.create_task(serve_http(server, port=0, on_ready=ready.set_result))
        async with asyncio.timeout(5):
            port = await ready
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            task.cancel()
            await asyncio.wait([task])
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", port)
            writer.close()
        assert task.cancelled()

    asyncio.run(serve())
    assert left == ["lifespan"]


def test_uvicorn_is_not_read_until_it_is_needed() -> None:
    probe = "import sys, dovetail.transports as t; assert 'uvicorn' not in sys.modules; t.{}"
    for name, code in (("serve_http", 0), ("serve_smoke", 1)):
        command = [sys.executable, "-c", probe.format(name)]
        assert subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == code


@pytest.mark.parametrize("words", [(), ("--workers", "2"), ("--reload",)])
def test_a_file_that_is_not_there_ends_with_2(tmp_path: Path, words: tuple[str, ...]) -> None:
    result = dovetail(str(tmp_path / "none.py"), "--http", "0", *words)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "There is no file" in result.stderr


def test_what_is_said_can_be_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    serving.announce("shop", 8000, HttpRun(path="/x"))
    first, second = capsys.readouterr().err.splitlines()
    assert first == "shop: serving http://127.0.0.1:8000/x; Ctrl-C ends it"
    entry = {"shop": {"type": "http", "url": "http://127.0.0.1:8000/x"}}
    assert json.loads(second.partition(": ")[2]) == {"mcpServers": entry}


@pytest.mark.parametrize(
    ("given", "host", "is_wide"),
    [
        (HttpRun(host="localhost"), "localhost", False),
        (HttpRun(host="::1"), "[::1]", False),
        (HttpRun(host="127.0.0.1", allow_hosts=["a.example"]), "127.0.0.1", False),
        (HttpRun(host="0.0.0.0"), socket.gethostname(), True),
        (HttpRun(host="0.0.0.0", allow_hosts=["*", "a.example:80"]), "a.example", True),
        (HttpRun(host="box.local"), "box.local", True),
    ],
)
def test_an_address_beyond_this_machine_is_warned_about(
    given: HttpRun, host: str, is_wide: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    serving.announce("shop", 80, given)
    said = capsys.readouterr().err
    assert f"http://{host}:80/mcp" in said
    assert ("can be reached from other machines" in said) == is_wide


@pytest.mark.parametrize("parser", ["httptools", "h11"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_both_eras_and_ends_at_once_with_streams_open(
    file: Path, parser: str, number: signal.Signals
) -> None:
    with run(file, "0", "--http-parser", parser) as server:
        assert server.call() == "one"
        answer = server.post(
            "initialize",
            JSON,
            protocolVersion="2025-11-25",
            capabilities={},
            clientInfo={"name": "t", "version": "1"},
        )
        session = answer["headers"]["mcp-session-id"]
        stream = server.connect()
        headers = {"accept": "text/event-stream", "mcp-session-id": session}
        stream.request("GET", "/mcp", headers=headers)
        with contextlib.closing(stream), stream.getresponse() as response:
            assert response.status == 200
            started = time.monotonic()
            assert server.end(number) == 0
            assert time.monotonic() - started < 2
        assert server.said.count("\n") == 2


NAPS = """
import asyncio

from dovetail import Context, Options, Server

server = Server("naps", options=Options(grace=0.5))


@server.tool
async def version(ctx: Context) -> str:
    await ctx.progress(1)
    await asyncio.sleep(60)
    return "never"
"""


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("parser", ["httptools", "h11"])
def test_a_call_that_does_not_end_is_ended_without_an_uproar(
    tmp_path: Path, parser: str, streams: bool
) -> None:
    file = tmp_path / "naps.py"
    file.write_text(NAPS, "utf-8")
    meta = {**META, "progressToken": 1} if streams else META
    headers = {**MODERN, "mcp-method": "tools/call", "mcp-name": "version"}
    params = {"name": "version", "arguments": {}, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    with run(file, "0", "--http-parser", parser) as server:
        with contextlib.closing(server.connect()) as connection:
            connection.request("POST", "/mcp", json.dumps(message), headers)
            if streams:
                response = connection.getresponse()
                assert response.readline() == b"event: message\n"
            else:
                # Another call has been answered, so this one has begun.
                server.post("tools/list", {**MODERN, "mcp-method": "tools/list"}, _meta=META)
            assert server.end() == 0
            if not streams:
                assert connection.getresponse().status == 503
        assert "Traceback" not in server.said
        assert server.said.count("\n") <= 3


def test_a_foreign_host_is_refused_unless_named(file: Path) -> None:
    with run(file, "0", "--allow-host", "shop.example", "--path", "/x") as server:
        for host, status in (("shop.example", 204), ("127.0.0.1", 403)):
            with contextlib.closing(server.connect()) as connection:
                connection.request("OPTIONS", "/x", headers={"host": host})
                assert connection.getresponse().status == status


def test_workers_share_the_port_and_are_replaced(file: Path) -> None:
    with run(file, "0", "--workers", "2", "--stateless") as server:
        assert server.call() == "one"
        assert "sessions live in one worker" not in server.said
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
        if children.exists():
            first = children.read_text("utf-8").split()[0]
            subprocess.run(["kill", "-KILL", first], check=True)
            assert server.wait_for(r"Worker (\d+) ended with -9") == first
        assert [server.call() for _ in range(4)] == ["one"] * 4
        assert server.end() == 0


def test_workers_that_cannot_start_end_it_with_their_code(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("server = 1\n", "utf-8")
    command = [sys.executable, "-m", "dovetail", "run", str(broken), "--http", "0", "--workers=3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=15, check=False)
    assert done.returncode == 2
    assert done.stderr.count("has no Server at its top level") == 1


def test_legacy_clients_of_several_workers_are_thought_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    serving.announce("shop", 80, HttpRun(workers=2))
    assert "give --stateless" in capsys.readouterr().err


def test_reload_follows_the_files_through_a_mistake(file: Path) -> None:
    with run(file, "0", "--reload") as server:
        assert server.call() == "one"
        file.write_text("1 / 0\n", "utf-8")
        server.wait_for("a change of its files starts it again")
        file.write_text(SERVER.format("three"), "utf-8")
        # The port stays open in between: whoever calls now waits.
        assert server.call() == "three"
        assert server.end(signal.SIGINT) == 0
