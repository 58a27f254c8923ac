"""Messages with line breaks between their tokens, on their way to and from a stdio process.

Stdio separates messages by line breaks, and a proxy passes params and results on as the bytes that
it received. A line break among them must not become the end of a message: what follows would be a
message of whoever wrote it, at a process that trusts the sender.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from dovetail import Proxy, Server
from dovetail.spec.keys import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from dovetail.transports.stdio import LineWriter
from tests.patience import CAP
from tests.peers.scripted import DISCOVERED, INITIALIZED
from tests.proxy.pairing import LEGACY, MODERN, at_url

# A stdio server that writes down every line it gets and answers calls of both eras.
RECORDER = Path(__file__).with_name("recorder.py")
ERAS = (LEGACY, MODERN)
# All that JSON allows between tokens, and the other characters that some readers end a line at.
BREAKS = ["\n", "\r", "\r\n", "\n\n \t", "\n\r\n"]
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')
# What a caller would like the process to take for a message of the proxy.
SMUGGLED = {
    "jsonrpc": "2.0",
    "id": 99,
    "method": "tools/call",
    "params": {
        "name": "secret",
        "arguments": {},
        "_meta": {PROTOCOL_VERSION: MODERN, CLIENT_CAPABILITIES: {}},
    },
}


def spread(message: Any, space: str) -> bytes:
    """The message as JSON with `space` at every place where white space may be."""
    tokens = TOKEN.findall(json.dumps(message, ensure_ascii=False))
    return f"{space}{space.join(tokens)}{space}".encode()


# -- from a caller to a process ----------------------------------------------------------------


def make_front(upstream: str, record: Path) -> Server:
    front = Server("front")
    proxy = Proxy([sys.executable, str(RECORDER), str(record)], mode=upstream, name="shop")
    front.mount(proxy, "shop", exclude=["secret"])
    return front


def post(client: httpx.Client, url: str, body: bytes, **headers: str) -> httpx.Response:
    accept = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    return client.post(url, content=body, headers=accept | headers)


def read_response(response: httpx.Response) -> dict[str, Any]:
    if response.headers["content-type"].startswith("application/json"):
        answer: dict[str, Any] = response.json()
        return answer
    data = [line[5:] for line in response.text.splitlines() if line.startswith("data:")]
    last: dict[str, Any] = json.loads(data[-1])
    return last


def call(url: str, era: str, arguments: Any, space: str) -> dict[str, Any]:
    """Call the tool with a body that is spread over many lines."""
    params: dict[str, Any] = {"name": "shop_echo", "arguments": arguments}
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    with httpx.Client(timeout=CAP) as client:
        headers = {"mcp-protocol-version": era}
        if era == MODERN:
            params["_meta"] = {PROTOCOL_VERSION: era, CLIENT_CAPABILITIES: {}}
            headers |= {"mcp-method": "tools/call", "mcp-name": "shop_echo"}
        else:
            opening = {
                "protocolVersion": era,
                "capabilities": {},
                "clientInfo": {"name": "eve", "version": "1"},
            }
            first = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening}
            opened = post(client, url, json.dumps(first).encode())
            headers["mcp-session-id"] = opened.headers["mcp-session-id"]
        return read_response(post(client, url, spread(message, space), **headers))


def calls_in(record: Path) -> list[tuple[str, Any]]:
    """The calls that the process got, whichever characters it ends a line at."""
    messages = [json.loads(line) for line in record.read_bytes().decode().splitlines()]
    called = [each["params"] for each in messages if each.get("method") == "tools/call"]
    return [(params["name"], params["arguments"]) for params in called]


@pytest.mark.parametrize("space", BREAKS, ids=repr)
@pytest.mark.parametrize("caller", ERAS)
@pytest.mark.parametrize("upstream", ERAS)
def test_a_caller_cannot_add_messages_to_those_of_the_proxy(
    upstream: str, caller: str, space: str, tmp_path: Path
) -> None:
    record = tmp_path / "lines"
    front = make_front(upstream, record)
    arguments = {"data": [SMUGGLED, {"text": "\u2028\u0085\u2029\n{}"}, SMUGGLED]}
    with at_url(front) as url:
        answer = call(url, caller, arguments, space)
    # The process got the call as one message, with the arguments unchanged.
    assert json.loads(answer["result"]["content"][0]["text"]) == arguments
    assert calls_in(record) == [("echo", arguments)]


# -- from an upstream to a client --------------------------------------------------------------

TOOLS = {
    "tools": [{"name": "echo", "inputSchema": {"type": "object"}}],
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
}
# An answer to a request that the client sent to another upstream.
FORGED = {"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "forged"}]}}
CALLED = {
    "content": [{"type": "text", "text": "true"}],
    "structuredContent": {"deep": [FORGED, FORGED]},
    "resultType": "complete",
}


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    results = {
        "initialize": INITIALIZED,
        "server/discover": DISCOVERED,
        "tools/list": TOOLS,
        "tools/call": CALLED,
    }
    if "id" not in message:
        return None
    result = results.get(message["method"], {"resultType": "complete"})
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


@contextmanager
def pretty_upstream(space: str, *, events: bool) -> Iterator[str]:
    """An HTTP server that spreads its answers over many lines, as bodies or as events."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            said = answer(json.loads(body))
            if said is None:
                self.reply(202, "text/plain", b"")
                return
            data = spread(said, space)
            if events:
                # `splitlines` of bytes splits at what an event stream splits at: LF, CR, CRLF.
                lines = b"".join(b"data: " + line + b"\r\n" for line in data.splitlines())
                self.reply(200, "text/event-stream", lines + b"\r\n")
            else:
                self.reply(200, "application/json", data)

        def do_GET(self) -> None:
            self.reply(405, "text/plain", b"")

        do_DELETE = do_GET

        def reply(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        thread.join(CAP)
        server.server_close()


def opening(era: str) -> list[dict[str, Any]]:
    if era == MODERN:
        return []
    params = {
        "protocolVersion": era,
        "capabilities": {},
        "clientInfo": {"name": "ada", "version": "1"},
    }
    first = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    return [first, {"jsonrpc": "2.0", "method": "notifications/initialized"}]


def request(era: str, id: int) -> dict[str, Any]:
    meta = {PROTOCOL_VERSION: era, CLIENT_CAPABILITIES: {}} if era == MODERN else {}
    params = {"name": "up_echo", "arguments": {}, "_meta": meta}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


@pytest.mark.parametrize("space", BREAKS, ids=repr)
@pytest.mark.parametrize("events", [False, True], ids=["body", "events"])
@pytest.mark.parametrize("caller", ERAS)
@pytest.mark.parametrize("upstream", ERAS)
def test_an_upstream_cannot_add_messages_to_those_of_a_gateway(
    upstream: str, caller: str, events: bool, space: str, tmp_path: Path
) -> None:
    async def scenario(url: str) -> list[str]:
        front = Server("front")
        front.mount(Proxy(url, mode=upstream, name="up"), "up")
        return await over_stdio(front, [*opening(caller), request(caller, 1)])

    with pretty_upstream(space, events=events) as url:
        lines = asyncio.run(scenario(url))
    messages = [json.loads(line) for line in lines]
    by_id = {message["id"]: message for message in messages if "id" in message}
    assert set(by_id) <= {0, 1} and len(messages) == len(by_id)
    assert by_id[1]["result"]["structuredContent"] == CALLED["structuredContent"]


async def over_stdio(server: Server, messages: list[dict[str, Any]]) -> list[str]:
    """What the stdio transport writes, up to the answer to the last message."""
    reading, writing = os.pipe()
    writer = LineWriter(writing, asyncio.Event())
    connection = server.connect(writer.send, send_now=writer.send_now, drain=writer.drain)
    received = b""
    with open(reading, "rb", buffering=0) as output:
        for message in messages:
            connection.receive(json.dumps(message).encode())
            while "id" in message and b'"id":%d' % message["id"] not in received:
                received += await asyncio.to_thread(output.read, 65536)
        await connection.close()
        await server.close()
        os.close(writing)
        received += await asyncio.to_thread(output.read)
    return received.decode().splitlines()


# -- a gateway as users run it -----------------------------------------------------------------


def test_a_gateway_passes_formatted_json_on_in_both_directions(tmp_path: Path) -> None:
    record = tmp_path / "lines"
    with pretty_upstream("\n", events=False) as url:
        file = tmp_path / "gateway.toml"
        file.write_text(
            f'[upstreams.up]\nurl = "{url}"\n[upstreams.shop]\n'
            f"command = {json.dumps(sys.executable)}\n"
            f'args = {json.dumps([str(RECORDER), str(record)])}\nexclude = ["secret"]\n'
        )
        said = [*opening(LEGACY), request(LEGACY, 1), request(LEGACY, 2)]
        said[-1]["params"] |= {"name": "shop_echo", "arguments": {"data": SMUGGLED}}
        with subprocess.Popen(
            [sys.executable, "-m", "dovetail", "gateway", str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as gateway:
            assert gateway.stdin is not None and gateway.stdout is not None
            answers = {}
            for message in said:
                # A line cannot have a newline between its tokens, but a carriage return.
                gateway.stdin.write(spread(message, "\r") + b"\n")
                gateway.stdin.flush()
                if "id" in message:
                    line = gateway.stdout.readline()
                    answers[message["id"]] = json.loads(line)
            gateway.stdin.close()
            assert gateway.stdout.read() == b""
    assert answers[1]["id"] == 1
    assert answers[1]["result"]["structuredContent"] == CALLED["structuredContent"]
    assert json.loads(answers[2]["result"]["content"][0]["text"]) == {"data": SMUGGLED}
    assert calls_in(record) == [("echo", {"data": SMUGGLED})]
