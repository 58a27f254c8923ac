"""Single HTTP requests to one process, with status and headers of the answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

from tests.patience import CAP

__all__ = [
    "LEGACY",
    "MODERN",
    "Answer",
    "Session",
    "answer_question",
    "call",
    "post",
    "start_session",
]

MODERN, LEGACY = "2026-07-28", "2025-11-25"
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}


class Answer(NamedTuple):
    """An HTTP response, read to its end."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> Any:
        """The JSON-RPC response: the body, or the last event of a stream."""
        lines = [line[6:] for line in self.body.splitlines() if line.startswith(b"data: {")]
        return json.loads(lines[-1] if lines else self.body)

    @property
    def error(self) -> str | None:
        """The text of the JSON-RPC error, if it is one."""
        text: str | None = self.message.get("error", {}).get("message")
        return text

    @property
    def text(self) -> str:
        """What the tool said."""
        text: str = self.message["result"]["content"][0]["text"]
        return text


async def post(port: int, message: Any, headers: dict[str, str], verb: str = "POST") -> Answer:
    """Send one request on a connection of its own."""
    body = b"" if message is None else json.dumps(message).encode()
    lines = {
        "Host": "127.0.0.1",
        "Connection": "close",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        **headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    async with asyncio.timeout(CAP):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(f"{verb} /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
            first, *rest = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
            found = {name.lower(): value for name, value in (line.split(": ", 1) for line in rest)}
            return Answer(int(first.split()[1]), found, await reader.read())
        finally:
            writer.close()


def _request(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


# -- 2026-07-28 -----------------------------------------------------------------------------------


async def call(port: int, tool: str, more: Any = None, **arguments: Any) -> Answer:
    """Call a tool; `more` are other params."""
    params = {"name": tool, "arguments": arguments, "_meta": _META, **(more or {})}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": tool}
    return await post(port, _request("tools/call", params), headers)


async def answer_question(question: Answer, port: int, amount: int) -> Answer:
    """Answer the question of the tool `order`."""
    result = question.message["result"]
    (key,) = result["inputRequests"]
    given = {key: {"action": "accept", "content": {"amount": amount}}}
    more = {"inputResponses": given, "requestState": result["requestState"]}
    return await call(port, "order", more)


# -- 2025-11-25 -----------------------------------------------------------------------------------


class Session:
    """A legacy session."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.headers = {"Mcp-Session-Id": id, "MCP-Protocol-Version": LEGACY}

    async def call(self, port: int, tool: str, **arguments: Any) -> Answer:
        """Call a tool."""
        params = {"name": tool, "arguments": arguments}
        return await post(port, _request("tools/call", params), self.headers)


async def initialize(port: int) -> Answer:
    """Start a session, or try to."""
    params = {
        "protocolVersion": LEGACY,
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"},
    }
    return await post(port, _request("initialize", params), {})


async def start_session(port: int) -> Session | None:
    """A session that is ready; None while the store cannot be used."""
    answer = await initialize(port)
    if answer.status == 200:
        session = Session(answer.headers["mcp-session-id"])
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        answer = await post(port, ready, session.headers)
        if answer.status == 202:
            return session
    assert answer.status == 503, answer
    return None
