"""One connection that is kept alive, and a client that does as little as it can."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

from soak import messages

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
            head = await self._reader.readuntil(b"\r\n\r\n")
            first, *lines = head.split(b"\r\n")[:-2]
            headers = {}
            for line in lines:
                name, _, value = line.partition(b":")
                headers[name.lower()] = value.strip()
            return Answer(int(first.split()[1]), headers, await self._body(headers))

    async def _body(self, headers: dict[bytes, bytes]) -> bytes:
        if b"chunked" not in headers.get(b"transfer-encoding", b""):
            return await self._reader.readexactly(int(headers.get(b"content-length", b"0")))
        body = b""
        while size := int(await self._reader.readline(), 16):
            body += await self._reader.readexactly(size)
            await self._reader.readline()
        await self._reader.readline()
        return body

    async def close(self) -> None:
        """Hang up."""
        self._writer.close()
        await self._writer.wait_closed()


async def open_session(connection: Connection) -> str:
    """Shake hands; the id of the new session."""
    opened = await connection.exchange(messages.initialize())
    session = opened.headers.get(b"mcp-session-id")
    if opened.status != 200 or session is None or b"protocolVersion" not in opened.body:
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
