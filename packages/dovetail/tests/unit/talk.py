"""How unit tests talk to a server: one message in, one out, or a connection and its messages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from dovetail import Server
from dovetail.runtime.connection import Connection
from dovetail.spec import keys
from tests.patience import CAP

T = TypeVar("T")
Json = dict[str, Any]

OLDEST = "2024-11-05"
BATCHES = "2025-03-26"
FIRST_FORMS = "2025-06-18"
LEGACY = "2025-11-25"
MODERN = "2026-07-28"
ERAS = (LEGACY, MODERN)
REVISIONS = (OLDEST, BATCHES, FIRST_FORMS, LEGACY, MODERN)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine."""

    async def limited() -> T:
        async with asyncio.timeout(CAP):
            return await coroutine

    return asyncio.run(limited())


def request(
    method: str,
    params: Json | None = None,
    *,
    id: int | str = 1,
    revision: str = LEGACY,
    capabilities: Json | None = None,
    meta: Json | None = None,
) -> bytes:
    """A request as a client of the revision writes it."""
    params = dict(params or {})
    envelope = dict(meta or {})
    if revision == MODERN:
        envelope |= {
            keys.PROTOCOL_VERSION: MODERN,
            keys.CLIENT_CAPABILITIES: capabilities or {},
            keys.CLIENT_INFO: {"name": "tester", "version": "1"},
        }
    if envelope:
        params["_meta"] = envelope
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()


def notification(method: str, params: Json | None = None) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}}).encode()


async def answer(
    server: Server,
    method: str,
    params: Json | None = None,
    *,
    revision: str = LEGACY,
    send: Callable[[bytes], Any] | None = None,
    scope: Any = None,
    principal: str | None = None,
    capabilities: Json | None = None,
    meta: Json | None = None,
) -> Json:
    """The whole response to one request through `server.handle`."""
    message = request(method, params, revision=revision, capabilities=capabilities, meta=meta)
    legacy = {} if revision == MODERN else {"revision": revision}
    response = await server.handle(message, send, scope, principal=principal, **legacy)
    assert response is not None
    decoded: Json = json.loads(response)
    return decoded


def ask(server: Server, method: str, params: Json | None = None, **how: Any) -> Json:
    """The result of one request, without what the modern era stamps on it."""
    response = run(answer(server, method, params, **how))
    assert "error" not in response, response["error"]
    result: Json = response["result"]
    for stamp in ("resultType", "ttlMs", "cacheScope"):
        result.pop(stamp, None)
    result.get("_meta", {}).pop(keys.SERVER_INFO, None)
    if not result.get("_meta", True):
        del result["_meta"]
    return result


def call(server: Server, tool: str, arguments: Json | None = None, **how: Any) -> Json:
    """The result of one tools/call."""
    return ask(server, "tools/call", {"name": tool, "arguments": arguments or {}}, **how)


def text_of(result: Json) -> str:
    """The text of a result that has nothing else."""
    [block] = result["content"]
    assert block["type"] == "text", block
    return str(block["text"])


def complaint_of(response: Json, revision: str) -> str:
    """How a bad answer to a question is complained about: to the model, or to the client."""
    if revision == MODERN:
        assert response["error"]["code"] == -32602
        return str(response["error"]["message"])
    # The request itself was fine; the answer came in a message of its own.
    assert response["result"]["isError"] is True
    return text_of(response["result"])


def refusal(server: Server, method: str, params: Json | None = None, **how: Any) -> Json:
    """The error of one request."""
    error: Json = run(answer(server, method, params, **how))["error"]
    return error


class Wire:
    """A connection and everything that came out of it."""

    def __init__(
        self, server: Server, revision: str = LEGACY, capabilities: Json | None = None
    ) -> None:
        self.sent: list[Any] = []
        self.revision = revision
        self.capabilities = capabilities or {}
        self._news = asyncio.Event()
        self.connection: Connection = server.connect(self._take, drain=self._drain)
        self._last_id = 100

    def _take(self, message: bytes) -> None:
        self.sent.append(json.loads(message))
        self._news.set()

    async def _drain(self) -> None:
        await asyncio.sleep(0)

    async def open(self) -> Wire:
        """Shake hands, where the revision has hands to shake."""
        if self.revision != MODERN:
            client = {"name": "tester", "title": "Tester", "version": "1"}
            params = {
                "protocolVersion": self.revision,
                "capabilities": self.capabilities,
                "clientInfo": client,
            }
            await self.ask("initialize", params)
            self.tell("notifications/initialized")
        return self

    def put(self, method: str, params: Json | None = None, **how: Any) -> int | str:
        """Send a request, do not wait; returns its id."""
        self._last_id += 1
        id: int | str = how.pop("id", self._last_id)
        how = {"revision": self.revision, "capabilities": self.capabilities, **how}
        self.connection.receive(request(method, params, id=id, **how))
        return id

    def put_call(self, tool: str, arguments: Json | None = None, **how: Any) -> int | str:
        """Send a tools/call, do not wait."""
        return self.put("tools/call", {"name": tool, "arguments": arguments or {}}, **how)

    def tell(self, method: str, params: Json | None = None) -> None:
        """Send a notification."""
        self.connection.receive(notification(method, params))

    def reply(self, id: Any, result: Any) -> None:
        """Answer a request of the server."""
        message = {"jsonrpc": "2.0", "id": id, "result": result}
        self.connection.receive(json.dumps(message).encode())

    async def until(self, wanted: Callable[[Any], bool]) -> Any:
        """The first message that fits, now or later."""
        async with asyncio.timeout(CAP):
            while True:
                for message in self.sent:
                    if wanted(message):
                        return message
                self._news.clear()
                await self._news.wait()

    async def wait_for_more(self, seen: int) -> None:
        """Wait until more than `seen` messages were sent."""
        async with asyncio.timeout(CAP):
            while len(self.sent) <= seen:
                self._news.clear()
                await self._news.wait()

    async def response(self, id: int | str) -> Json:
        """The response of this id."""
        found: Json = await self.until(
            lambda m: isinstance(m, dict) and m.get("id") == id and "method" not in m
        )
        return found

    async def ask(self, method: str, params: Json | None = None, **how: Any) -> Json:
        """The response to a request."""
        return await self.response(self.put(method, params, **how))

    async def call(self, tool: str, arguments: Json | None = None, **how: Any) -> Json:
        """The response to a tools/call."""
        return await self.response(self.put_call(tool, arguments, **how))

    async def asked(self, method: str) -> Json:
        """The next request of the server for this method."""
        found: Json = await self.until(
            lambda m: isinstance(m, dict) and m.get("method") == method and "id" in m
        )
        self.sent.remove(found)
        return found

    def heard(self, method: str) -> list[Json]:
        """The notifications of this method so far."""
        return [
            m
            for m in self.sent
            if isinstance(m, dict) and m.get("method") == method and "id" not in m
        ]


async def turn(times: int = 5) -> None:
    """Let everything that is ready run."""
    for _ in range(times):
        await asyncio.sleep(0)
