"""Clients that call until the server is gone, and classify the outcome of each call."""

from __future__ import annotations

import asyncio
import json
import re
from abc import ABC, abstractmethod
from asyncio.subprocess import Process
from typing import Any

from qa.soak import messages
from qa.soak.http_client import Connection, WrongAnswerError, open_session
from qa.soak.messages import Era

__all__ = [
    "ANSWERED",
    "CLOSED",
    "REFUSED",
    "Client",
    "HttpClient",
    "SseClient",
    "StdioClient",
    "read_until_closed",
]

ANSWERED = "answered"
REFUSED = "refused"
# The connection was refused, or closed before the first byte of a response.
CLOSED = "closed"

_SHUTDOWN_ERROR = -32603


class Client(ABC):
    """Calls tools of a server that may shut down at any moment."""

    @abstractmethod
    async def call(self, id: int, tool: str, seconds: float) -> str:
        """The outcome of a call: ANSWERED, REFUSED, CLOSED, or what is wrong with it."""

    @abstractmethod
    async def close(self) -> None:
        """Disconnect."""


def _outcome(message: Any, id: int, *, may_refuse: bool = True) -> str:
    """Classify a JSON-RPC response."""
    if message.get("id") != id and not _is_unread(message):
        return f"response to {message.get('id')!r}"
    if "result" in message:
        is_right = message["result"]["content"][0]["text"] == str(id)
        return ANSWERED if is_right else f"wrong result: {message}"
    error = message["error"]
    if may_refuse and error["code"] == _SHUTDOWN_ERROR and "shutting down" in error["message"]:
        return REFUSED
    return f"error: {error}"


def _is_unread(message: Any) -> bool:
    """Whether the error has no id: the body of a refused request is not read."""
    return message.get("id") is None and "error" in message


class HttpClient(Client):
    """A connection over Streamable HTTP."""

    def __init__(self, connection: Connection, session: str | None) -> None:
        self._connection = connection
        self._session = session

    @classmethod
    async def open(cls, port: int, era: Era) -> HttpClient:
        """Connect; a legacy client also begins a session."""
        connection = await Connection.open(port)
        return cls(connection, await open_session(connection) if era == "legacy" else None)

    async def call(self, id: int, tool: str, seconds: float) -> str:
        request = messages.call(self._session, id, tool, number=id, seconds=seconds)
        try:
            answer = await self._connection.exchange(request)
        except asyncio.IncompleteReadError as error:
            return f"response cut after {error.partial!r}" if error.partial else CLOSED
        except OSError:
            return CLOSED
        events = re.findall(rb"^data: ?(.+)$", answer.body, re.MULTILINE)
        message = json.loads(events[-1] if events else answer.body)
        # Streams have begun with 200; the documented status of other responses is 503.
        outcome = _outcome(message, id, may_refuse=bool(events) or answer.status == 503)
        if outcome == REFUSED or answer.status == 200:
            return outcome
        return f"status {answer.status}: {outcome}"

    async def close(self) -> None:
        await self._connection.close()


class _MatchingClient(Client):
    """A client whose responses arrive on one channel, in any order."""

    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._is_closed = False
        self._reading: asyncio.Task[None] | None = None

    def _receive(self, message: Any) -> None:
        waiting = self._waiting.pop(message.get("id"), None)
        if waiting is not None:
            waiting.set_result(message)

    def _end(self) -> None:
        self._is_closed = True
        for waiting in self._waiting.values():
            waiting.set_result(None)
        self._waiting.clear()

    async def _exchange(self, id: int, method: str, params: dict[str, Any]) -> Any:
        """The response; None if the channel is closed before."""
        if self._is_closed:
            return None
        self._waiting[id] = asyncio.get_running_loop().create_future()
        response = self._waiting[id]
        try:
            await self._send({"id": id, "method": method, "params": params})
        except OSError:
            self._waiting.pop(id, None)
            return None
        return await response

    @abstractmethod
    async def _send(self, message: dict[str, Any]) -> None: ...

    async def _initialize(self) -> None:
        await self._exchange(0, "initialize", messages.initialize_params())
        await self._send({"method": "notifications/initialized"})


class SseClient(_MatchingClient):
    """A session over HTTP+SSE; messages are sent on a connection of their own."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port
        self._endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(cls, port: int) -> SseClient:
        """Connect and initialize."""
        self = cls(port)
        self._reading = asyncio.create_task(self._read(await Connection.open(port)))
        await self._initialize()
        return self

    async def _read(self, connection: Connection) -> None:
        try:
            async for chunk in connection.stream(messages.get_old_sse("/sse")):
                for event, data in re.findall(
                    r"^event: (\w+)\r?\ndata: ?(.+?)\r?$", chunk.decode(), re.M
                ):
                    if event == "endpoint":
                        self._endpoint.set_result(data)
                    else:
                        self._receive(json.loads(data))
        except (OSError, EOFError):
            pass
        finally:
            self._end()
            await connection.close()

    async def _send(self, message: dict[str, Any]) -> None:
        endpoint = await self._endpoint
        connection = await Connection.open(self._port)
        try:
            answer = await connection.exchange(messages.post_to(endpoint, message))
        except EOFError:
            raise ConnectionResetError from None
        finally:
            await connection.close()
        if answer.status == 503:
            self._receive(json.loads(answer.body))
        elif answer.status != 202:
            raise WrongAnswerError(f"message not accepted: {answer.status} {answer.body!r}")

    async def call(self, id: int, tool: str, seconds: float) -> str:
        params = messages.call_params(id, tool, {"number": id, "seconds": seconds})
        message = await self._exchange(id, "tools/call", params)
        return CLOSED if message is None else _outcome(message, id)

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])


class StdioClient(_MatchingClient):
    """The only client of a server on stdio."""

    def __init__(self, process: Process, era: Era) -> None:
        super().__init__()
        self._process = process
        self._era = era

    @classmethod
    async def open(cls, process: Process, era: Era) -> StdioClient:
        """Read from the process; a legacy client also initializes."""
        self = cls(process, era)
        self._reading = asyncio.create_task(self._read())
        if era == "legacy":
            await self._initialize()
        return self

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self._receive(json.loads(line))
        self._end()

    async def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        await self._process.stdin.drain()

    async def call(self, id: int, tool: str, seconds: float) -> str:
        params = messages.call_params(id, tool, {"number": id, "seconds": seconds})
        if self._era == "modern":
            params = messages.modern_params(params)
        message = await self._exchange(id, "tools/call", params)
        return CLOSED if message is None else _outcome(message, id)

    async def close(self) -> None:
        if self._reading is not None:
            await asyncio.wait([self._reading])


async def read_until_closed(port: int, era: Era) -> None:
    """A client that only listens, until the server ends its stream."""
    connection = await Connection.open(port)
    try:
        session = await open_session(connection) if era == "legacy" else None
        request = messages.listen(1) if session is None else messages.get_stream(session)
        async for _ in connection.stream(request):
            pass
    finally:
        await connection.close()
