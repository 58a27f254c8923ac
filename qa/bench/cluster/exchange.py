"""Requests to a server, one at a time on connections that stay open."""

from __future__ import annotations

import json
import socket
from typing import Any

__all__ = ["Caller", "Session"]

_MODERN, _LEGACY = "2026-07-28", "2025-11-25"
_META = {
    "io.modelcontextprotocol/protocolVersion": _MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_CALL: dict[str, Any] = {"name": "add", "arguments": {"a": 1, "b": 2}}


def _encode(headers: dict[str, str], message: Any) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    lines = {
        "Host": "127.0.0.1",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Content-Length": str(len(body)),
        **headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body


def _call(headers: dict[str, str], **more: Any) -> bytes:
    params = {**_CALL, **more}
    return _encode(headers, {"id": 1, "method": "tools/call", "params": params})


class Session:
    """A legacy session."""

    def __init__(self, id: str) -> None:
        headers = {"Mcp-Session-Id": id, "MCP-Protocol-Version": _LEGACY}
        self.ready = _encode(headers, {"method": "notifications/initialized"})
        self.call = _call(headers)


class Caller:
    """A connection to one process."""

    modern = _call(
        {"MCP-Protocol-Version": _MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "add"},
        _meta=_META,
    )

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, request: bytes, status: bytes = b"200") -> dict[str, str]:
        """Send a request and read the response; its headers."""
        self._socket.sendall(request)
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._receive()
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")
        assert first.split()[1] == status, data
        headers = {
            name.decode().lower(): value.decode()
            for name, value in (line.split(b": ", 1) for line in lines)
        }
        missing = int(headers.get("content-length", "0")) - len(body)
        while missing > 0:
            missing -= len(self._receive())
        return headers

    def _receive(self) -> bytes:
        data = self._socket.recv(65536)
        assert data, "the server closed the connection"
        return data

    def start_session(self) -> Session:
        """A session that is ready."""
        params = {
            "protocolVersion": _LEGACY,
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        hello = _encode({}, {"id": 1, "method": "initialize", "params": params})
        session = Session(self.send(hello)["mcp-session-id"])
        self.send(session.ready, b"202")
        return session

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()
