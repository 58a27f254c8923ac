"""`dovetail run FILE --http`: options, output and shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner, Result

from dovetail import Server
from dovetail.auth import GuardSettings
from dovetail.cli import WORKER
from dovetail.cli import run_http as module
from dovetail.cli.app import app
from dovetail.cli.run_http import open_listeners, run_http
from dovetail.cli.settings import HttpSettings, WorkerSettings, parse_address
from dovetail.cli.supervisor import EndpointReport
from dovetail.errors import TransportError, UsageError
from dovetail.runtime.key_files import KEYS_FILE
from dovetail.runtime.state import CLUSTER
from dovetail.transports import serve_http
from dovetail.transports.http_server import bind
from dovetail.wire import codec
from tests.patience import CAP, wait_until

SERVER = """
from dovetail import Options, Server

server = Server("counter", options=Options(grace=3600))


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

    def __init__(self, process: subprocess.Popen[str], log: Path, serving: str) -> None:
        self.process = process
        self._log = log
        self.url = self.wait_for(serving)

    @property
    def said(self) -> str:
        return self._log.read_text("utf-8")

    def wait_for(self, pattern: str) -> str:
        def find() -> re.Match[str] | None:
            assert self.process.poll() is None, self.said
            return re.search(pattern, self.said)

        found = wait_until(find)
        assert found is not None
        return found[found.re.groups]

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=CAP)

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
        return self.process.wait(CAP)


@contextlib.contextmanager
def run(
    file: Path,
    *words: str,
    module: str = "dovetail",
    serving: str = r"serving (http://\S+);",
) -> Iterator[Running]:
    log = file.parent / "said.txt"
    command = [sys.executable, "-m", module, "run", str(file), "--http", *words]
    with (
        log.open("w") as stderr,
        subprocess.Popen(command, stderr=stderr, stdin=subprocess.DEVNULL, text=True) as process,
    ):
        try:
            yield Running(process, log, serving)
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
def test_invalid_addresses_are_rejected(text: str) -> None:
    with pytest.raises(UsageError, match="expected PORT or HOST:PORT"):
        parse_address(text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--workers", "2", "--stateless"], "--stateless, --workers: requires --http"),
        (["--http", "eighty"], "expected PORT or HOST:PORT"),
        (["--http", "0", "--path", "mcp"], "--path must begin with a slash"),
        (["--http", "0", "--reload", "--workers", "2"], "--reload cannot be combined"),
        (["--http", "0", "--workers", "0"], "Invalid value for '--workers'"),
        (["--http", "0", "--http-parser", "x"], "Invalid value for '--http-parser'"),
    ],
)
def test_wrong_usage_sets_exit_code_2(file: Path, words: list[str], said: str) -> None:
    result = dovetail(str(file), *words)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_worker_gets_every_option(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[HttpSettings] = []

    def note(_file: str, settings: HttpSettings, _arguments: object) -> int:
        seen.append(settings)
        return 0

    monkeypatch.setattr(module, "run_http", note)
    words = "--http [::1]:9 --path /x --allow-host a --allow-host b --allow-origin https://c"
    words += " --stateless --access-log --rest --workers 3 --http-parser h11 --console --watch"
    words += " --cluster redis://a/0 --state-keys keys --keys k --rate 1/s --read-only"
    assert dovetail(str(file), *words.split()).exit_code == 0
    worker = WorkerSettings(listener=3, report=4, state_key="0", folder="/", log_format="text")
    settings = replace(seen[0], worker=worker)
    monkeypatch.setenv(WORKER, codec.encode(settings).decode())
    assert dovetail(str(file)).exit_code == 0
    assert codec.encode(seen[1]) == codec.encode(settings)
    assert (settings.host, settings.port, settings.allowed_hosts) == ("::1", 9, ("a", "b"))
    assert settings.guard == GuardSettings(keys="k", rate="1/s", read_only=True)
    # Servers that a handler starts are not workers.
    assert WORKER not in os.environ


def test_an_address_in_use_is_one_line_and_exit_code_4(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        for workers in (1, 2):
            assert run_http(str(file), HttpSettings(port=port, workers=workers)) == 4
            said = capsys.readouterr().err
            assert said == f"dovetail: Cannot listen on 127.0.0.1:{port}: Address already in use\n"


@pytest.mark.parametrize("words", [("0", "--rest"), ("0", "--rest", "--stateless", "--workers=2")])
def test_rest_is_served_beside_mcp(file: Path, words: tuple[str, ...]) -> None:
    with run(file, *words) as running:
        assert running.call() == "one"
        with contextlib.closing(running.connect()) as connection:
            connection.request("POST", "/tools/version")
            response = connection.getresponse()
            assert json.loads(response.read())["content"][0]["text"] == "one"
            connection.request("GET", "/openapi.json")
            document = json.loads(connection.getresponse().read())
            assert list(document["paths"]) == ["/tools/version"]
        assert "/tools/NAME" in running.said
        assert running.end() == 0


def test_a_host_that_cannot_be_bound_is_reported() -> None:
    with pytest.raises(TransportError, match=r"Cannot listen on nowhere\.invalid: "):
        bind("nowhere.invalid", 0)


def test_events_do_not_wait_for_acknowledgements() -> None:
    with bind("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_cancelling_stops_the_server() -> None:
    left: list[str] = []

    @contextlib.asynccontextmanager
    async def lifespan(_: Server) -> AsyncIterator[None]:
        yield
        left.append("lifespan")

    async def serve() -> None:
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        server = Server("short", lifespan=lifespan)
        task = asyncio.create_task(serve_http(server, port=0, on_ready=ready.set_result))
        async with asyncio.timeout(CAP):
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


def test_uvicorn_is_imported_on_first_use() -> None:
    probe = "import sys, dovetail.transports as t; assert 'uvicorn' not in sys.modules; t.{}"
    for name, code in (("serve_http", 0), ("serve_smoke", 1)):
        command = [sys.executable, "-c", probe.format(name)]
        assert subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == code


@pytest.mark.parametrize("words", [(), ("--workers", "2"), ("--reload",)])
def test_a_missing_file_sets_exit_code_2(tmp_path: Path, words: tuple[str, ...]) -> None:
    result = dovetail(str(tmp_path / "none.py"), "--http", "0", *words)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "There is no file" in result.stderr


def test_the_printed_configuration_is_valid(capsys: pytest.CaptureFixture[str]) -> None:
    module.announce(EndpointReport("shop", "/x"), 8000, HttpSettings())
    first, second = capsys.readouterr().err.splitlines()
    assert first == "shop: serving http://127.0.0.1:8000/x; press Ctrl-C to stop"
    entry = {"shop": {"type": "http", "url": "http://127.0.0.1:8000/x"}}
    assert json.loads(second.partition(": ")[2]) == {"mcpServers": entry}


@pytest.mark.parametrize(
    ("key_header", "headers"),
    [(None, {"Authorization": "Bearer YOUR_KEY"}), ("X-Key", {"X-Key": "YOUR_KEY"})],
)
def test_the_configuration_has_the_header_that_keys_need(
    capsys: pytest.CaptureFixture[str], key_header: str | None, headers: dict[str, str]
) -> None:
    guard = GuardSettings(keys="keys.json", key_header=key_header)
    module.announce(EndpointReport("shop"), 8000, HttpSettings(guard=guard))
    entry = json.loads(capsys.readouterr().err.splitlines()[1].partition(": ")[2])
    assert entry["mcpServers"]["shop"]["headers"] == headers


@pytest.mark.parametrize("workers", [(), ("--workers", "2", "--stateless")])
def test_the_access_log_has_every_request_without_its_query(
    file: Path, workers: tuple[str, ...]
) -> None:
    with run(file, "0", "--access-log", *workers) as server:
        assert server.call() == "one"
        server.wait_for(r'("POST /mcp HTTP/1\.1" 200)')
        connection = server.connect()
        connection.request("GET", "/elsewhere?key=secret")
        connection.getresponse().read()
        connection.close()
        server.wait_for(r'("GET /elsewhere HTTP/1\.1" 404)')
        assert "secret" not in server.said
        assert server.end(signal.SIGTERM) == 0


def test_all_lines_of_all_processes_can_be_json(file: Path) -> None:
    options = ("--log-format", "json", "--access-log", "--workers", "2", "--stateless")
    with run(file, "0", *options) as server:
        assert server.call() == "one"
        server.wait_for(r'"logger":"uvicorn.access","message":(.+) 200')
        assert server.end(signal.SIGTERM) == 0
        for line in server.said.splitlines():
            assert json.loads(line)["level"] == "INFO"


@pytest.mark.parametrize(
    ("given", "host", "is_wide"),
    [
        (HttpSettings(host="localhost"), "localhost", False),
        (HttpSettings(host="::1"), "[::1]", False),
        (HttpSettings(host="127.0.0.1", app={"allowed_hosts": ["a.example"]}), "127.0.0.1", False),
        (HttpSettings(host="0.0.0.0"), socket.gethostname(), True),
        (
            HttpSettings(host="0.0.0.0", app={"allowed_hosts": ["*", "a.example:80"]}),
            "a.example",
            True,
        ),
        (HttpSettings(host="box.local"), "box.local", True),
    ],
)
def test_an_address_beyond_this_machine_is_warned_about(
    given: HttpSettings, host: str, is_wide: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    module.announce(EndpointReport("shop"), 80, given)
    said = capsys.readouterr().err
    assert f"http://{host}:80/mcp" in said
    assert ("accepts connections from other machines" in said) == is_wide


@pytest.mark.parametrize("parser", ["httptools", "h11"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_both_eras_and_stops_with_open_streams(
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
            # The grace period is longer than the cap: streams do not keep the server waiting.
            assert server.end(number) == 0
        # The endpoint, its configuration entry and the console.
        assert server.said.count("\n") == 3


NAPS = """
import asyncio
from pathlib import Path

from dovetail import Context, Options, Server

server = Server("naps", options=Options(grace=0.5))


@server.tool
async def version(ctx: Context) -> str:
    await ctx.progress(1)
    Path(__file__).with_name("begun").touch()
    await asyncio.Event().wait()
    return "never"
"""


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("parser", ["httptools", "h11"])
def test_an_endless_call_is_stopped_without_a_traceback(
    tmp_path: Path, parser: str, streams: bool
) -> None:
    file = tmp_path / "naps.py"
    file.write_text(NAPS, "utf-8")
    meta = {**META, "progressToken": 1} if streams else META
    headers = {**MODERN, "mcp-method": "tools/call", "mcp-name": "version"}
    params = {"name": "version", "arguments": {}, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    with run(file, "0", "--http-parser", parser, module="tests.patient") as server:
        with contextlib.closing(server.connect()) as connection:
            connection.request("POST", "/mcp", json.dumps(message), headers)
            if streams:
                response = connection.getresponse()
                assert response.readline() == b"event: message\n"
            else:
                wait_until((tmp_path / "begun").exists)
            assert server.end() == 0
            if not streams:
                assert connection.getresponse().status == 503
        assert "Traceback" not in server.said
        assert server.said.count("\n") <= 3


def test_other_hosts_are_rejected_unless_allowed(file: Path) -> None:
    with run(file, "0", "--allow-host", "shop.example", "--path", "/x") as server:
        for host, status in (("shop.example", 204), ("127.0.0.1", 403)):
            with contextlib.closing(server.connect()) as connection:
                connection.request("OPTIONS", "/x", headers={"host": host})
                assert connection.getresponse().status == status


def test_workers_share_the_port_and_are_replaced(file: Path) -> None:
    with run(file, "0", "--workers", "2", "--stateless") as server:
        assert server.call() == "one"
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
        if children.exists():
            first = children.read_text("utf-8").split()[0]
            os.kill(int(first), signal.SIGKILL)
            assert server.wait_for(r"Worker (\d+) exited with code -9") == first
        assert [server.call() for _ in range(4)] == ["one"] * 4
        assert server.end() == 0


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_any_worker_can_listen_on_the_port(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    with (
        open_listeners(HttpSettings()) as (port, open_listener),
        open_listener() as one,
        open_listener() as other,
    ):
        # As in a worker, when it is ready; sockets that do not listen get no connections.
        one.listen()
        other.close()
        for _ in range(10):
            with socket.create_connection(("127.0.0.1", port)), one.accept()[0]:
                pass


def test_a_worker_that_cannot_start_sets_the_exit_code(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("server = 1\n", "utf-8")
    command = [sys.executable, "-m", "dovetail", "run", str(broken), "--http", "0", "--workers=3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=CAP, check=False)
    assert done.returncode == 2
    assert done.stderr.count("has no Server at its top level") == 1


def test_several_workers_that_share_no_sessions_are_refused(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The first worker says so.
    pipe = os.pipe()
    worker = WorkerSettings(
        listener=pipe[0], report=pipe[1], state_key="00" * 32, folder="/tmp", log_format="text"
    )
    assert run_http(str(file), HttpSettings(workers=2, worker=worker)) == 2
    # Child processes of a worker must not keep them open.
    assert not any(os.get_inheritable(descriptor) for descriptor in pipe)
    for descriptor in pipe:
        os.close(descriptor)
    assert capsys.readouterr().err == (
        "dovetail: --workers 2: 'counter' keeps the sessions of legacy clients in the memory of "
        "one process, and their next request may reach another; share them with "
        "--cluster redis://HOST:PORT/0, or serve without sessions with --stateless\n"
    )


def test_a_cluster_without_state_keys_is_refused(file: Path) -> None:
    words = ["run", str(file), "--http=0", "--workers=2", "--cluster=redis://127.0.0.1:1/0"]
    command = [sys.executable, "-m", "dovetail", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=CAP, check=False)
    assert done.returncode == 4
    assert "dovetail keys state > state.keys" in done.stderr
    # One line: the line of the file that makes the server is not at fault.
    assert done.stderr.count("\n") == 1


def test_servers_find_the_cluster_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CLUSTER, "redis://a/0")
    monkeypatch.setenv(KEYS_FILE, "a.keys")
    HttpSettings().set_environment()
    assert (os.environ[CLUSTER], os.environ[KEYS_FILE]) == ("redis://a/0", "a.keys")
    HttpSettings(cluster="redis://b/0", state_keys="b.keys").set_environment()
    assert (os.environ[CLUSTER], os.environ[KEYS_FILE]) == ("redis://b/0", "b.keys")


@pytest.mark.parametrize("workers", [(), ("--workers", "2", "--stateless")])
def test_health_pages_are_served(file: Path, workers: tuple[str, ...]) -> None:
    with run(file, "0", *workers) as server, contextlib.closing(server.connect()) as connection:
        for path in ("/healthz", "/readyz"):
            connection.request("GET", path)
            response = connection.getresponse()
            assert (response.status, json.loads(response.read())) == (200, {"status": "ok"})


def test_reload_keeps_the_old_server_while_a_file_is_broken(file: Path) -> None:
    with run(file, "0", "--reload") as server:
        assert server.call() == "one"
        file.write_text("1 / 0\n", "utf-8")
        server.wait_for("The old server goes on")
        assert server.call() == "one"
        file.write_text(SERVER.format("three"), "utf-8")
        wait_until(lambda: server.call() == "three")
        assert server.end(signal.SIGINT) == 0


def test_a_broken_file_is_reported_to_clients_and_browsers(file: Path) -> None:
    file.write_text("def f():\n    1 / 0\n\nf()\n", "utf-8")
    with run(file, "0", "--reload", serving=r"(http://\S+) answers 503") as server:
        with contextlib.closing(server.connect()) as connection:
            connection.request("POST", "/mcp", b"{}" * 100_000, JSON)
            response = connection.getresponse()
            assert (response.status, response.getheader("retry-after")) == (503, "1")
            message = json.loads(response.read())["error"]["message"]
            assert "line 2, in f" in message
            assert message.endswith("ZeroDivisionError: division by zero")
            # The frames are those of the file only.
            assert "loading.py" not in message
        for headers, shown in (
            ({"accept": "text/html"}, "ZeroDivisionError: division by zero</pre>"),
            ({"accept": "text/html", "host": "evil.example"}, "its log has the reason</pre>"),
        ):
            with contextlib.closing(server.connect()) as connection:
                connection.request("GET", "/", headers=headers)
                response = connection.getresponse()
                assert response.status == 503
                assert shown in response.read().decode()
        file.write_text(SERVER.format("two"), "utf-8")
        server.url = server.wait_for(r"serving (http://\S+);")
        assert server.call() == "two"
        assert server.end(signal.SIGINT) == 0


def test_a_server_that_exits_under_reload_is_reported(file: Path) -> None:
    exits = SERVER.replace('return "{}"', "__import__('os')._exit(3)")
    file.write_text(exits, "utf-8")
    with run(file, "0", "--reload") as server:
        with pytest.raises((http.client.HTTPException, OSError)):
            server.call()
        server.wait_for("it restarts when a file changes")
        with contextlib.closing(server.connect()) as connection:
            connection.request("GET", "/")
            response = connection.getresponse()
            assert response.status == 503
            assert b"it exited with code 3" in response.read()


@pytest.mark.parametrize(
    ("words", "address"),
    [
        (["--port", "9"], ("127.0.0.1", 9)),
        (["--host", "::1"], ("::1", 8000)),
        (["--host", "0.0.0.0", "--port", "0"], ("0.0.0.0", 0)),
    ],
)
def test_host_and_port_are_another_way_to_write_http(
    file: Path, words: list[str], address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[HttpSettings] = []

    def note(_file: str, settings: HttpSettings, _arguments: object) -> int:
        seen.append(settings)
        return 0

    monkeypatch.setattr(module, "run_http", note)
    assert dovetail(str(file), *words).exit_code == 0
    assert (seen[0].host, seen[0].port) == address
    both = dovetail(str(file), *words, "--http", "8000")
    assert "--host and --port are another way to write --http" in both.stderr


CRASH = SERVER.replace('return "{}"', "return str(1 / 0)")


@pytest.mark.parametrize(
    ("words", "is_shown"),
    [(("0", "--debug"), True), (("0", "--reload"), True), (("0",), False)],
)
def test_debug_shows_where_a_tool_crashed(
    file: Path, words: tuple[str, ...], is_shown: bool
) -> None:
    file.write_text(CRASH, "utf-8")
    with run(file, *words) as server:
        shown = server.call()
        assert ("counter.py" in shown and "ZeroDivisionError" in shown) is is_shown
        assert "Internal error" not in shown or not is_shown
        # No frames of the framework.
        assert "dispatch" not in shown


def test_debug_shows_nothing_to_other_machines(file: Path) -> None:
    file.write_text(CRASH, "utf-8")
    with run(file, "0.0.0.0:0", "--debug", "--allow-host", "127.0.0.1") as server:
        assert "ZeroDivisionError" not in server.call()


def test_the_log_level_is_that_of_the_workers_too(file: Path) -> None:
    text = "import logging\nlogging.getLogger('mine').debug('hello')\n" + SERVER.format("one")
    file.write_text(text, "utf-8")
    for words in (("0",), ("0", "--workers", "2", "--stateless")):
        with run(file, *words, "--log-level", "debug") as server:
            server.wait_for("(DEBUG mine: hello)")
