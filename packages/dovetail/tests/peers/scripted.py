"""A server that says what a test tells it to say, in the same process, and remembers what it heard.

An answer is a result, an RpcError, None for silence, or a function of the message that
returns one of these.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from dovetail.errors import RpcError
from dovetail.wire import codec
from tests.patience import CAP

Answer: TypeAlias = dict[str, Any] | RpcError | None
Script: TypeAlias = Mapping[str, Answer | Callable[[dict[str, Any]], Answer]]

DISCOVERED: dict[str, Any] = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {
        "tools": {"listChanged": True},
        "resources": {"listChanged": False, "subscribe": True},
    },
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "script", "version": "1"}},
}
INITIALIZED: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {
        "tools": {"listChanged": True},
        "logging": {},
        "resources": {"subscribe": True},
    },
    "serverInfo": {"name": "script", "version": "1"},
}


class ScriptedServer:
    def __init__(self, script: Script) -> None:
        self.script = script
        self.heard: list[dict[str, Any]] = []
        self.connections = 0
        self.closed = False
        self._send: Callable[[bytes], None] | None = None
        self._arrival = asyncio.Event()

    def connect(self, send: Callable[[bytes], None]) -> ScriptedServer:
        self.connections += 1
        self._send = send
        return self

    def receive(self, data: bytes) -> None:
        message: dict[str, Any] = codec.decode_json(data)
        self.heard.append(message)
        self._arrival.set()
        answer = self.script.get(message.get("method", ""))
        if callable(answer):
            answer = answer(message)
        if "id" not in message or "method" not in message or answer is None:
            return
        if isinstance(answer, RpcError):
            self.say_raw(codec.encode_error(codec.encode_id(message["id"]), answer))
        else:
            self.say({"id": message["id"], "result": answer})

    async def close(self) -> None:
        self._send = None
        self.closed = True

    def say(self, message: dict[str, Any]) -> None:
        self.say_raw(codec.encode({"jsonrpc": "2.0", **message}))

    def tell(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.say({"method": method, **({} if params is None else {"params": params})})

    def say_raw(self, data: bytes) -> None:
        if self._send is not None:
            self._send(data)

    def methods(self) -> list[str]:
        return [message["method"] for message in self.heard if "method" in message]

    def last(self, method: str) -> dict[str, Any]:
        return [message for message in self.heard if message.get("method") == method][-1]

    async def until(self, is_there: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait for a message of the client's; under whatever timeout the test has."""
        while True:
            for message in self.heard:
                if is_there(message):
                    return message
            self._arrival.clear()
            await self._arrival.wait()

    async def until_method(self, method: str) -> dict[str, Any]:
        return await self.until(lambda message: message.get("method") == method)


def run(work: Any) -> Any:
    """The result of a coroutine."""

    async def limited() -> Any:
        async with asyncio.timeout(CAP):
            return await work

    return asyncio.run(limited())
