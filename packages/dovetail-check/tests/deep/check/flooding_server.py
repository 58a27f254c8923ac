"""A server that answers requests and then sends without end: flooding_server.py TRANSPORT MODE.

A list request starts the flood. Over HTTP it prints its port.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

RESULTS: dict[str, dict[str, Any]] = {"tools/list": {"tools": []}, "ping": {}}
FLOODS: dict[str, dict[str, Any]] = {
    "requests": {"method": "roots/list", "id": 1},
    "notifications": {"method": "notifications/message", "params": {"level": "info", "data": 1}},
    "wrong-ids": {"id": "nobody", "result": {}},
    "nested": {"method": "notifications/message", "params": {"data": [[]] * 200_000}},
}


def answer(request: dict[str, Any]) -> bytes:
    method, params = request["method"], request.get("params", {})
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
    if method == "initialize":
        reply["result"] = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "flood", "version": "1"},
        }
    elif method in RESULTS:
        reply["result"] = RESULTS[method]
    else:
        reply["error"] = {"code": -32601, "message": "no such method"}
    return json.dumps(reply).encode()


def flood(mode: str) -> Iterator[bytes]:
    """What is sent without end."""
    if mode in FLOODS:
        message = json.dumps({"jsonrpc": "2.0", **FLOODS[mode]}).encode()
        part = b"\n".join([message] * max(1, 100_000 // len(message))) + b"\n"
    else:
        part = {"line": b"x" * 100_000, "parts": b"{}}\n" * 20_000, "blank": b"\n" * 1000}[mode]
    while True:
        yield part


def over_stdio(mode: str) -> None:
    out = 2 if mode == "stderr" else 1
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            os.write(1, answer(request) + b"\n")
        if request.get("method") == "tools/list":
            for part in flood("line" if mode == "stderr" else mode):
                os.write(out, part)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    mode = ""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in request or "method" not in request:
            self._head(202, "Content-Length: 0")
        elif request["method"] != "tools/list":
            body = answer(request)
            self._head(200, "Content-Type: application/json", f"Content-Length: {len(body)}")
            self.wfile.write(body)
        elif self.mode == "body":
            self._head(200, "Content-Type: application/json", "Connection: close")
            for part in flood("line"):
                self.wfile.write(part)
        elif self.mode == "drip":
            self._head(200, "Content-Type: application/json", "Content-Length: 1000000")
            while not self.server.stopping.wait(0.05):  # type: ignore[attr-defined]
                self.wfile.write(b" ")
        else:
            self._stream(request)

    def _stream(self, request: dict[str, Any]) -> None:
        self._head(200, "Content-Type: text/event-stream", "Connection: close")
        if self.mode != "tiny-chunks":
            self.wfile.write(b"data: " + answer(request) + b"\n\n")
        if self.mode in FLOODS:
            message = json.dumps({"jsonrpc": "2.0", **FLOODS[self.mode]}).encode()
            event = b"data: " + message + b"\n\n"
        else:
            event = {"comments": b": x\n", "line": b"x" * 100_000, "ids": b"id: 1\n\nid: 2\n\n"}[
                self.mode
            ]
        event *= max(1, 100_000 // len(event))
        while True:
            self.wfile.write(event)

    def _head(self, status: int, *headers: str) -> None:
        self.wfile.write("\r\n".join([f"HTTP/1.1 {status} x", *headers, "", ""]).encode())

    def do_GET(self) -> None:
        self._head(405, "Content-Length: 0")

    do_DELETE = do_GET

    def handle(self) -> None:
        # The connection was closed, or the message is not JSON.
        with contextlib.suppress(OSError, ValueError):
            super().handle()

    def log_message(self, *_: Any) -> None:
        pass


def over_http(mode: str) -> None:
    Handler.mode = mode
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.stopping = threading.Event()  # type: ignore[attr-defined]
    os.write(1, b"%d\n" % server.server_address[1])
    server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1] == "http":
        over_http(sys.argv[2])
    else:
        over_stdio(sys.argv[2])
