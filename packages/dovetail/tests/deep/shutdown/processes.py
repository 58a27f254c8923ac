"""Starts the server of this folder in its own process, and talks HTTP to it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.patience import CAP, wait_until

SERVER = Path(__file__).parent / "server.py"
LEGACY, MODERN = "2025-11-25", "2026-07-28"
ERAS = [LEGACY, MODERN]
PARSERS = ["httptools", "h11"]

_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}


def params_for(tool: str, name: str) -> dict[str, Any]:
    """The params of a modern call."""
    return {"name": tool, "arguments": {"name": name}, "_meta": {**_META, "progressToken": 1}}


def headers_for(tool: str) -> dict[str, str]:
    """The headers of a modern call."""
    return {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": tool}


class Reply(NamedTuple):
    """An HTTP response, read to its end."""

    status: int
    body: str

    @property
    def message(self) -> Any:
        """The JSON-RPC response: the body, or the last event of a stream."""
        events = re.findall(r"^data: (.+)$", self.body, re.MULTILINE)
        return json.loads(events[-1] if events else self.body)


class Process:
    """A running server."""

    def __init__(self, popen: subprocess.Popen[bytes], folder: Path, log: Path) -> None:
        self.popen = popen
        self.folder = folder
        self._log = log
        self._connections: list[http.client.HTTPConnection] = []
        self._calls: list[Call] = []

    @property
    def said(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def port(self) -> int:
        found = wait_until(lambda: re.search(r"http://127\.0\.0\.1:(\d+)", self.said))
        assert found is not None
        return int(found[1])

    def wait_for_start(self, name: str) -> None:
        """Wait until the tool that was called with this name runs."""
        wait_until((self.folder / f"{name}.started").exists)

    def terminate(self) -> None:
        self.popen.send_signal(signal.SIGTERM)

    def exit_code(self) -> int:
        return self.popen.wait(CAP)

    def close(self) -> None:
        """End the process, if it still runs, and all connections."""
        self.popen.kill()
        self.popen.wait()
        for pipe in (self.popen.stdin, self.popen.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        for call in self._calls:
            call.join(CAP)
        self.disconnect()

    def disconnect(self) -> None:
        """End all connections."""
        for connection in self._connections:
            connection.close()

    # -- HTTP ---------------------------------------------------------------------------------

    def start_session(self) -> dict[str, str]:
        """The headers of a legacy session."""
        params = {
            "protocolVersion": LEGACY,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        response = self.open("POST", {}, "initialize", params)
        response.read()
        return {
            "Mcp-Session-Id": response.headers["Mcp-Session-Id"],
            "MCP-Protocol-Version": LEGACY,
        }

    def open(
        self, verb: str, headers: dict[str, str], method: str = "", params: Any = None
    ) -> http.client.HTTPResponse:
        """Send a request and return the response when its head has arrived."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=CAP)
        self._connections.append(connection)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        own = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            **headers,
        }
        connection.request(verb, "/mcp", body if verb == "POST" else None, own)
        return connection.getresponse()

    def call(self, era: str, tool: str, name: str) -> Call:
        """Call a tool in a thread."""
        headers = self.start_session() if era == LEGACY else headers_for(tool)
        params = params_for(tool, name)
        if era == LEGACY:
            params["_meta"] = {"progressToken": 1}
        call = Call(self, headers, params)
        self._calls.append(call)
        return call

    def open_stream(self, era: str) -> http.client.HTTPResponse:
        """A stream of a client that only listens."""
        if era == LEGACY:
            response = self.open("GET", self.start_session())
        else:
            params = {"notifications": {"toolsListChanged": True}, "_meta": _META}
            method = "subscriptions/listen"
            headers = {"MCP-Protocol-Version": era, "Mcp-Method": method}
            response = self.open("POST", headers, method, params)
        assert response.status == 200, response.read()
        assert response.headers["Content-Type"] == "text/event-stream"
        return response


class Call(threading.Thread):
    """A tool call in a thread."""

    def __init__(self, process: Process, headers: dict[str, str], params: Any) -> None:
        super().__init__()
        self._process = process
        self._headers = headers
        self._params = params
        self._reply: Reply | None = None
        self.start()

    def run(self) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            response = self._process.open("POST", self._headers, "tools/call", self._params)
            self._reply = Reply(response.status, response.read().decode())

    def reply(self) -> Reply:
        self.join(CAP)
        assert self._reply is not None, "the connection was closed without a response"
        return self._reply


@contextlib.contextmanager
def running(folder: Path, grace: float, *words: str, **options: Any) -> Iterator[Process]:
    """A process with these arguments for Python."""
    log = folder / "stderr"
    environment = {**os.environ, "FOLDER": str(folder), "GRACE": str(grace)}
    with log.open("wb") as stderr:
        popen = subprocess.Popen(
            [sys.executable, *words], stderr=stderr, env=environment, **options
        )
    process = Process(popen, folder, log)
    try:
        yield process
    finally:
        process.close()


def run_http(
    folder: Path, grace: float, parser: str, *options: str, module: str = "dovetail"
) -> Any:
    """`dovetail run --http` with the server of this folder."""
    words = ["-m", module, "run", str(SERVER), "--http", "0", "--http-parser", parser]
    return running(folder, grace, *words, *options)
