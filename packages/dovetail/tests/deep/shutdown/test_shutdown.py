"""SIGTERM: calls have a grace period, the rest is refused, and the process exits."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.deep.shutdown.processes import ERAS, MODERN, PARSERS, SERVER, run_http, running
from tests.deep.shutdown.refusal import is_refused
from tests.patience import CAP, wait_until

WORKERS = [(), ("--workers", "2")]
TOOLS = ["wait", "report_and_wait"]


@pytest.mark.parametrize("options", WORKERS, ids=["one", "workers"])
@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("tool", TOOLS)
def test_calls_that_end_within_the_grace_period_are_answered(
    tmp_path: Path, tool: str, era: str, parser: str, options: tuple[str, ...]
) -> None:
    # Workers do not share sessions.
    options = (*options, "--stateless") if options else ()
    with run_http(tmp_path, CAP, parser, *options) as server:
        call = server.call(MODERN if options else era, tool, "a")
        server.wait_for_start("a")
        server.terminate()
        # New connections are refused from now on.
        wait_until(lambda: is_refused(server.port))
        (tmp_path / "a").touch()
        reply = call.reply()
        assert reply.status == 200
        assert reply.message["result"]["content"][0]["text"] == "done"
        assert server.exit_code() == 0
        assert "Traceback" not in server.said


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("tool", TOOLS)
def test_calls_beyond_the_grace_period_are_refused(
    tmp_path: Path, tool: str, era: str, parser: str
) -> None:
    with run_http(tmp_path, 0.2, parser, module="tests.patient") as server:
        call = server.call(era, tool, "a")
        server.wait_for_start("a")
        server.terminate()
        reply = call.reply()
        # A stream has begun with its status.
        assert reply.status == (503 if tool == "wait" else 200)
        assert reply.message["id"] == 1
        assert reply.message["error"]["code"] == -32603
        assert "shutting down" in reply.message["error"]["message"]
        assert server.exit_code() == 0
        assert "Traceback" not in server.said


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("era", ERAS)
def test_clients_that_only_listen_do_not_delay_the_exit(
    tmp_path: Path, era: str, parser: str
) -> None:
    with run_http(tmp_path, CAP, parser) as server:
        stream = server.open_stream(era)
        server.terminate()
        stream.read()
        assert server.exit_code() == 0


@pytest.mark.parametrize("options", WORKERS, ids=["one", "workers"])
@pytest.mark.parametrize("tool", ["ignore_cancellation", "block"])
def test_a_handler_that_does_not_end_cannot_keep_an_http_server_alive(
    tmp_path: Path, tool: str, options: tuple[str, ...]
) -> None:
    options = (*options, "--stateless") if options else ()
    with run_http(tmp_path, 0.2, "httptools", *options) as server:
        server.call(MODERN, tool, "a")
        server.wait_for_start("a")
        server.terminate()
        server.exit_code()
        assert "a handler did not end within" in server.said
        if tool == "block":
            assert re.search(r"exiting at .*server\.py:\d+", server.said)
        else:
            named = (
                r"tool 'ignore_cancellation'.*server\.py:\d+.* did not end when it was cancelled"
            )
            assert re.search(named, server.said)


# While the event loop is blocked, the end of the input cannot be noticed.
@pytest.mark.parametrize(
    ("tool", "how"),
    [
        ("ignore_cancellation", "signal"),
        ("ignore_cancellation", "end of input"),
        ("block", "signal"),
    ],
)
def test_a_handler_that_does_not_end_cannot_keep_a_stdio_server_alive(
    tmp_path: Path, tool: str, how: str
) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with running(tmp_path, 0.2, "-m", "dovetail", "run", str(SERVER), **pipes) as server:
        assert server.popen.stdin is not None
        for id, method, params in (
            (1, "initialize", {"protocolVersion": ERAS[0], "capabilities": {}}),
            (2, "tools/call", {"name": tool, "arguments": {"name": "a"}}),
        ):
            if method == "initialize":
                params["clientInfo"] = {"name": "test", "version": "1"}
            message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
            server.popen.stdin.write(json.dumps(message).encode() + b"\n")
        server.popen.stdin.flush()
        server.wait_for_start("a")
        if how == "signal":
            server.terminate()
        else:
            server.popen.stdin.close()
        assert server.exit_code() == 1


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("era", ERAS)
def test_an_application_in_plain_uvicorn_exits_although_clients_listen(
    tmp_path: Path, era: str, parser: str
) -> None:
    words = ["-m", "uvicorn", "tests.deep.shutdown.server:app", "--port", "0", "--http", parser]
    with running(tmp_path, CAP, *words) as server:
        stream = server.open_stream(era)
        call = server.call(era, "wait", "a")
        server.wait_for_start("a")
        server.terminate()
        # The stream ends, while the call goes on.
        stream.read()
        (tmp_path / "a").touch()
        assert call.reply().status == 200
        assert server.exit_code() in (0, -15)
