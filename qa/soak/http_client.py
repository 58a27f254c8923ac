"""One connection that is kept alive, and a client that does as little as it can."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, NamedTuple

from qa.soak import messages

__all__ = ["Answer", "Connection", "WrongAnswerError", "check_sum", "open_session", "read_chunks"]

# A server that has not answered by now will not.
_PATIENCE = 60.0


class WrongAnswerError(AssertionError):
    """The server answered something else than it should."""


class Answer(NamedTuple):
    """One whole response."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes


class Connection:
    """Asks and waits, one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> Connection:
        """Connect."""
        async with asyncio.timeout(_PATIENCE):
            return cls(*await asyncio.open_connection("127.0.0.1", port))

    def send(self, request: bytes) -> None:
        """Send a request whose response is not read."""
        self._writer.write(request)

    async def exchange(self, request: bytes) -> Answer:
        """The answer to a request."""
        self._writer.write(request)
        async with asyncio.timeout(_PATIENCE):
            status, headers = await self._head()
            return Answer(status, headers, await self._body(headers))

    async def stream(self, request: bytes) -> AsyncIterator[bytes]:
        """The chunks of a streamed response; each is an event or several."""
        self._writer.write(request)
        status, headers = await self._head()
        if status != 200:
            body = await self._body(headers)
            raise WrongAnswerError(f"no stream: {status} {body[:300]!r}")
        async for chunk in self._chunks():
            yield chunk

    async def _head(self) -> tuple[int, dict[bytes, bytes]]:
        head = await self._reader.readuntil(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")[:-2]
        headers = {}
        for line in lines:
            name, _, value = line.partition(b":")
            headers[name.lower()] = value.strip()
        return int(first.split()[1]), headers

    async def _body(self, headers: dict[bytes, bytes]) -> bytes:
        if b"chunked" not in headers.get(b"transfer-encoding", b""):
            return await self._reader.readexactly(int(headers.get(b"content-length", b"0")))
        return b"".join([chunk async for chunk in self._chunks()])

    async def _chunks(self) -> AsyncIterator[bytes]:
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            yield await self._reader.readexactly(size)
            await self._reader.readuntil(b"\r\n")
        await self._reader.readuntil(b"\r\n")

    async def close(self) -> None:
        """Close, also after the server has reset the connection."""
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


async def open_session(connection: Connection) -> str:
    """Initialize; the id of the new session, which is empty if the server is stateless."""
    opened = await connection.exchange(messages.initialize())
    session = opened.headers.get(b"mcp-session-id", b"")
    if opened.status != 200 or b"protocolVersion" not in opened.body:
        raise WrongAnswerError(f"no session: {opened.status} {opened.body[:300]!r}")
    told = await connection.exchange(messages.initialized(session.decode()))
    if told.status != 202:
        raise WrongAnswerError(f"no welcome: {told.status} {told.body[:300]!r}")
    return session.decode()


def check_sum(answer: Answer, id: int, wanted: int) -> None:
    """Raise unless this is the answer to call `id`, and right."""
    if answer.status == 200:
        told: dict[str, Any] = json.loads(answer.body)
        result = told.get("result", {})
        content = result.get("content") or [{}]
        if told.get("id") == id and content[0].get("text") == str(wanted):
            return
    raise WrongAnswerError(f"call {id}: {answer.status} {answer.body[:300]!r}")


def read_chunks(data: bytes) -> bytes:
    """The body of a chunked response, as far as it has come."""
    body, rest = b"", data
    while True:
        size, line, rest = rest.partition(b"\r\n")
        if not line or not size:
            return body
        length = int(size, 16)
        body, rest = body + rest[:length], rest[length + 2 :]
