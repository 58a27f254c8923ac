"""Sockets that say exactly the bytes they are given, and read what comes back."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.patience import CAP

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
BATCHES = "2025-03-26"


class Response(NamedTuple):
    """One response, to its end."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> int | None:
        """The code of the JSON-RPC error, if the body is one."""
        if self.headers.get("content-type") != "application/json" or not self.body:
            return None
        answer = self.json
        return answer["error"]["code"] if "jsonrpc" in answer and "error" in answer else None

    @property
    def text(self) -> str:
        """What a tool answered, alone or at the end of a stream."""
        answer = self.json if self.body.startswith(b"{") else self.messages[-1]
        text: str = answer["result"]["content"][0]["text"]
        return text

    @property
    def messages(self) -> list[Any]:
        """What the events of a stream say."""
        lines = self.body.decode().splitlines()
        return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


class Wire:
    """One connection."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=CAP)
        self.reader = self.socket.makefile("rb")

    def say(self, *chunks: bytes) -> None:
        for chunk in chunks:
            self.socket.sendall(chunk)

    def hang_up(self) -> None:
        """Say that nothing more will be said, and go on reading."""
        self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.reader.close()
        self.socket.close()

    def vanish(self) -> None:
        """Go away without a goodbye: what the other side sends meets a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.close()

    def hear_head(self) -> tuple[int, dict[str, str]]:
        """The head of a response; those that only say to go on are passed over."""
        line = self.reader.readline()
        assert line.startswith(b"HTTP/1.1 "), line
        headers = {}
        while (field := self.reader.readline().strip()) != b"":
            name, _, value = field.decode("latin-1").partition(": ")
            headers[name.lower()] = value
        status = int(line.split()[1])
        return (status, headers) if status >= 200 else self.hear_head()

    def hear(self, *, to: str = "POST") -> Response:
        """One whole response to a request of this method."""
        status, headers = self.hear_head()
        if to == "HEAD":
            body = b""
        elif "content-length" in headers:
            body = self.reader.read(int(headers["content-length"]))
        elif headers.get("transfer-encoding") == "chunked":
            body = b"".join(self.chunks())
        elif status == 204:
            body = b""
        else:
            body = self.reader.read()
        return Response(status, headers, body)

    def chunks(self) -> Iterator[bytes]:
        while chunk := self.hear_event():
            yield chunk

    def hear_event(self) -> bytes:
        """The next chunk of a stream; empty at its end."""
        size = int(self.reader.readline(), 16)
        chunk = self.reader.read(size)
        self.reader.readline()
        return chunk

    def hear_end(self) -> bytes:
        """Whatever comes until the other side closes."""
        with contextlib.suppress(ConnectionResetError):
            return self.reader.read()
        return b""


def head(method: str = "POST", target: str = "/mcp", version: str = "1.1", **fields: Any) -> bytes:
    """The head of a request; None leaves a field out, a list says it several times."""
    named: dict[str, Any] = {"host": "127.0.0.1"}
    if method == "POST":
        named["accept"] = "application/json, text/event-stream"
        named["content-type"] = "application/json"
    named |= {name.replace("_", "-"): value for name, value in fields.items()}
    lines = [f"{method} {target} HTTP/{version}"]
    for name, value in named.items():
        values = value if isinstance(value, list) else [value]
        lines += [f"{name}: {one}" for one in values if one is not None]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def post(body: bytes, **fields: Any) -> bytes:
    """A whole request."""
    return head(**{"content_length": len(body), **fields}) + body


def rpc(method: str, id: Any = 1, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()


def initialize(revision: str = LEGACY) -> bytes:
    client = {"name": "hostile", "version": "1"}
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": client}
    return post(rpc("initialize", **params))


def modern_call(
    tool: str, id: Any = 1, fields: dict[str, Any] | None = None, **arguments: Any
) -> bytes:
    """A call of a tool that needs no session."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/logLevel": "debug",
    }
    named = {"mcp_protocol_version": MODERN, "mcp_method": "tools/call", "mcp_name": tool}
    body = rpc("tools/call", id, name=tool, arguments=arguments, _meta=meta)
    return post(body, **{**named, **(fields or {})})


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
