"""The requests of the load clients: whole HTTP requests, as bytes.

They are written by hand, so that clients cost little and can stop in the middle of a request.
"""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias

__all__ = [
    "ERAS",
    "NOTE",
    "Era",
    "call",
    "call_params",
    "counts",
    "get_old_sse",
    "get_stream",
    "initialize",
    "initialize_params",
    "initialized",
    "listen",
    "modern_params",
    "post_to",
    "subscribe",
]

Era: TypeAlias = Literal["legacy", "modern"]
ERAS: tuple[Era, ...] = ("legacy", "modern")

# The resource that changes.
NOTE = "soak://note"

_LEGACY = "2025-11-25"
_MODERN = "2026-07-28"
_CLIENT = {"name": "soak", "version": "1"}
_META = {
    "io.modelcontextprotocol/protocolVersion": _MODERN,
    "io.modelcontextprotocol/clientInfo": _CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_BOTH = "application/json, text/event-stream"


def _http(method: str, path: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1:8000"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _post(headers: dict[str, str], message: dict[str, Any]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()
    return _http("POST", "/mcp", {"Accept": _BOTH, **headers}, body)


def _request(
    session: str | None, id: int | str, method: str, params: dict[str, Any], name: str = ""
) -> bytes:
    """A legacy request of this session, or a modern one."""
    if session is not None:
        return _post(_of(session), {"id": id, "method": method, "params": params})
    headers = {"MCP-Protocol-Version": _MODERN, "Mcp-Method": method}
    if name:
        headers["Mcp-Name"] = name
    return _post(headers, {"id": id, "method": method, "params": modern_params(params)})


def _of(session: str) -> dict[str, str]:
    """The headers of a session; a stateless server gives its clients the empty id."""
    version = {"MCP-Protocol-Version": _LEGACY}
    return {**version, "Mcp-Session-Id": session} if session else version


def modern_params(params: dict[str, Any]) -> dict[str, Any]:
    """The params of a modern request."""
    return {**params, "_meta": {**_META, **params.get("_meta", {})}}


def initialize_params(capabilities: dict[str, Any] | None = None) -> dict[str, Any]:
    """The params of an `initialize` request."""
    return {
        "protocolVersion": _LEGACY,
        "capabilities": capabilities or {},
        "clientInfo": _CLIENT,
    }


def call_params(id: int | str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The params of a call, with a progress token."""
    return {"name": tool, "arguments": arguments, "_meta": {"progressToken": id}}


def initialize(capabilities: dict[str, Any] | None = None) -> bytes:
    """The beginning of a session."""
    params = initialize_params(capabilities)
    return _post({}, {"id": 0, "method": "initialize", "params": params})


def initialized(session: str) -> bytes:
    """The end of the handshake."""
    return _post(_of(session), {"method": "notifications/initialized"})


def call(session: str | None, id: int | str, tool: str, **arguments: Any) -> bytes:
    """A call, with a progress token."""
    return _request(session, id, "tools/call", call_params(id, tool, arguments), tool)


def post_to(endpoint: str, message: dict[str, Any]) -> bytes:
    """A message to the endpoint of an HTTP+SSE session."""
    body = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()
    return _http("POST", endpoint, {}, body)


def get_old_sse(path: str) -> bytes:
    """The stream of an HTTP+SSE session."""
    return _http("GET", path, {"Accept": "text/event-stream"})


def listen(id: int | str) -> bytes:
    """A modern stream of changes to the note."""
    wanted = {"notifications": {"resourceSubscriptions": [NOTE]}}
    return _request(None, id, "subscriptions/listen", wanted)


def subscribe(session: str) -> bytes:
    """What a legacy client says before it hears of the note."""
    return _request(session, 1, "resources/subscribe", {"uri": NOTE})


def get_stream(session: str) -> bytes:
    """The legacy stream of changes."""
    return _http("GET", "/mcp", {"Accept": "text/event-stream", **_of(session)})


def counts(*, collect: bool = False) -> bytes:
    """What the server holds; with `collect` after the garbage is gone."""
    return _http("GET", "/collected-counts" if collect else "/counts", {})
