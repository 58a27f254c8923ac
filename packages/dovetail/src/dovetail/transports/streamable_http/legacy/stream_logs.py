"""Streams whose events are in a log of the backend, so that any process can resume them.

The process that produces a stream appends each event before it sends it to its own connection. An
event id is the name of the stream and the position that the backend gave. Any process resumes the
stream by reading the log and following it. It cannot miss an event: the log says if some are
missing, and its last record says whether all were stored.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from dovetail.errors import InternalError, RpcError, StoreError
from dovetail.net.backoff import backoff
from dovetail.runtime.processes import Processes, follow
from dovetail.runtime.state import ServerState
from dovetail.state import Entry, Retention
from dovetail.transports.asgi.reply import Reply
from dovetail.transports.streamable_http.legacy.session import MAX_STREAM_BYTES
from dovetail.transports.streamable_http.legacy.streams import Stream
from dovetail.wire import codec
from dovetail.wire.framing import encode_sse
from dovetail.wire.messages import Response

__all__ = ["GENERAL", "Follower", "LoggedStream", "Position", "StreamLogs"]

logger: logging.Logger = logging.getLogger("dovetail")

# The stream of a session's GET, which carries messages that belong to no request.
GENERAL = "general"

_KEPT = Retention(max_bytes=MAX_STREAM_BYTES)
# Seconds after which an open stream is kept from disappearing.
_KEEP = _KEPT.max_age / 2
# Seconds that an event waits for a backend that cannot be used, and bytes that wait. Then events
# are only sent to the connection of this process.
_PATIENCE = 5.0
_MAX_WAITING_BYTES = 4 * MAX_STREAM_BYTES
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.5

# Kinds of records: a message, nothing (so that the log is kept), and the end of a stream.
_EVENT, _NOTHING, _END, _INCOMPLETE = range(4)

_PROCESS_ENDED = InternalError("The process that served this request has ended; send it again")
_LOST = InternalError("Events of this stream were lost on the server; send the request again")


class _Record(Struct, array_like=True):
    kind: int
    # The process that produces the stream.
    node: str
    # Counts the events of a stream, so that one that was stored twice is sent once; 0 for events
    # that several processes append.
    number: int = 0
    # The ids of the requests that have no response yet, this event included.
    requests: list[bytes] = []
    message: bytes = b""


class Position(NamedTuple):
    """A place in a stream, and what follows it."""

    position: int
    record: _Record
    rest: list[Entry]


class StreamLogs:
    """The logs of all streams of a server."""

    def __init__(self, state: ServerState, processes: Processes) -> None:
        self.state = state
        self.backend = state.backend
        self.processes = processes
        self._numbers = itertools.count(1)

    def log(self, session: str, stream: str) -> str:
        """The name of a log."""
        return self.state.key("stream", session, stream)

    def new_stream(self, session: str, reply: Reply, requests: Sequence[bytes]) -> LoggedStream:
        """A stream that this process produces."""
        name = f"{self.processes.node}-{next(self._numbers)}"
        return LoggedStream(self, name, self.log(session, name), reply, requests)

    def send_general(self, session: str, message: bytes) -> None:
        """Send a message that belongs to no request, wherever the client receives it."""
        record = _pack(_Record(_EVENT, self.processes.node, message=message))
        self.processes.append(self.log(session, GENERAL), record, _KEPT)

    async def begin_general(self, session: str) -> Position:
        """The end of the stream of a session's GET; raises StoreError."""
        record = _Record(_NOTHING, self.processes.node)
        log = self.log(session, GENERAL)
        position = await self.backend.append(log, _pack(record), _KEPT)
        return Position(position or 0, record, [])

    async def find(self, session: str, stream: str, position: int) -> Position | None:
        """The place of an event; None if it or one after it is not stored. Raises StoreError."""
        log = self.log(session, stream)
        page = await self.backend.read(log, position - 1)
        if page.entries and page.entries[0].position == position:
            return Position(position, _unpack(page.entries[0].data), page.entries[1:])
        page = await self.backend.read(log, position)
        if page.lost or not page.entries or not position:
            return None
        first = _unpack(page.entries[0].data)
        return Position(position, msgspec.structs.replace(first, number=0), page.entries)


class LoggedStream(Stream):
    """A stream whose events are in the backend."""

    __slots__ = (
        "_drained",
        "_is_incomplete",
        "_logs",
        "_number",
        "_requests",
        "_size",
        "_waiting",
        "_wake",
        "log",
        "name",
        "writer",
    )

    def __init__(
        self, logs: StreamLogs, name: str, log: str, reply: Reply, requests: Sequence[bytes]
    ) -> None:
        super().__init__(reply)
        self.name = name
        self.log = log
        self._logs = logs
        self._requests = list(requests)
        self._number = 0
        self._is_incomplete = False
        # What is to be done in order, and the bytes of the messages among it.
        self._waiting: deque[Callable[[], object]] = deque()
        self._size = 0
        self._wake, self._drained = asyncio.Event(), asyncio.Event()
        # The response begins before anything is stored: it ends when its writer has ended.
        reply.open()
        self.writer: asyncio.Task[None] = logs.state.start(self._write())

    @property
    def is_open(self) -> bool:
        """Whether a client is connected to the stream, or something is still to be stored."""
        return self.reply is not None or not self.writer.done()

    def prime(self) -> None:
        """Send an empty event, so that the client has an id to resume from."""
        # http.sse.prime (2025-11-25 basic/transports)
        self.send(b"")

    def send(self, message: bytes, *, is_answer: bool = False) -> None:
        """Store a message, then send it."""
        self.sent_bytes += len(message)
        self._size += len(message)
        self._put(lambda: self._send(message, is_answer=is_answer))

    async def drain(self) -> None:
        """Wait until what was sent is stored."""
        while self._size > MAX_STREAM_BYTES // 2 and not self.writer.done():
            self._drained.clear()
            await self._drained.wait()

    def finish(self) -> None:
        """Send no more messages; the client can still fetch those that it has missed."""
        self.finished = True
        self._wake.set()

    def detach(self, retry_ms: int | None = None) -> None:
        """Close the connection after what was sent; the stream stays open."""
        self._put(lambda: super(LoggedStream, self).detach(retry_ms))

    def hand_over(self) -> None:
        """Close the connection at once: the client has made another one."""
        super().detach()

    def _put(self, act: Callable[[], object]) -> None:
        self._waiting.append(act)
        self._wake.set()

    async def _write(self) -> None:
        try:
            while self._waiting or not self.finished:
                if not self._waiting:
                    await self._rest()
                    continue
                done = self._waiting.popleft()()
                if asyncio.iscoroutine(done):
                    await done
            await self._append(_END)
        finally:
            self._drained.set()
            self.hand_over()

    async def _rest(self) -> None:
        self._wake.clear()
        try:
            async with asyncio.timeout(_KEEP):
                await self._wake.wait()
        except TimeoutError:
            await self._append(_NOTHING)

    async def _send(self, message: bytes, *, is_answer: bool) -> None:
        if is_answer:
            answered = codec.decode(message)
            if isinstance(answered, Response) and answered.id in self._requests:
                self._requests.remove(answered.id)
        self._number += 1
        id = await self._append(_EVENT, message)
        self._size -= len(message)
        self._drained.set()
        if self.reply is None:
            return
        if message:
            self.reply.event(message, id=id, is_answer=is_answer)
        elif id is not None:
            self.reply.raw(encode_sse(b"", id=id))

    async def _append(self, kind: int, message: bytes = b"") -> bytes | None:
        """Store a record; returns its id, or None if the log is incomplete."""
        if self._is_incomplete:
            return None
        loop, pauses = asyncio.get_running_loop(), backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        node = self._logs.processes.node
        record = _pack(_Record(kind, node, self._number, self._requests, message))
        until = loop.time() + _PATIENCE
        while True:
            try:
                position = await self._logs.backend.append(self.log, record, _KEPT)
                return f"{self.name}_{position}".encode()
            except StoreError:
                if loop.time() > until or self._size > _MAX_WAITING_BYTES:
                    break
            await asyncio.sleep(next(pauses))
        self._is_incomplete = True
        logger.warning("a stream cannot be resumed: its events could not be stored")
        record = _pack(_Record(_INCOMPLETE, node, 0, self._requests))
        self._logs.processes.append(self.log, record, _KEPT)
        return None


class Follower:
    """A connection of this process that continues a stream from its log."""

    def __init__(
        self, logs: StreamLogs, session: str, stream: str, start: Position, reply: Reply
    ) -> None:
        self.stream = stream
        self.reply = reply
        # The name of the connection; the latest one of a stream gets its events.
        self.token = secrets.token_hex(8)
        self.claimed = asyncio.Event()
        self._logs = logs
        self._log = logs.log(session, stream)
        self._start = start
        self._last = start.record

    @property
    def is_general(self) -> bool:
        """Whether it is the stream of a GET."""
        return self.stream == GENERAL

    def take(self, token: str) -> None:
        """A connection has been made for this stream, this one or a later one."""
        if token == self.token:
            self.claimed.set()
        elif self.claimed.is_set():
            # http.multi.one-stream: never two streams with the same message
            self.reply.stop()

    async def run(self) -> None:
        """Send the events until the stream ends."""
        for entry in self._start.rest:
            if not self._take(entry):
                return
        after = self._start.rest[-1].position if self._start.rest else self._start.position
        has_ended = False
        kept_at = asyncio.get_running_loop().time()
        pages = follow(self._logs.backend, self._log, after)
        async with contextlib.aclosing(pages):
            async for page in pages:
                if page.lost and not self.is_general:
                    self._fail(_LOST)
                    return
                if not all(self._take(entry) for entry in page.entries):
                    return
                if page.entries:
                    await self.reply.drain()
                    continue
                if self.is_general:
                    now = asyncio.get_running_loop().time()
                    if now - kept_at > _KEEP:
                        kept_at = now
                        record = _pack(_Record(_NOTHING, self._logs.processes.node))
                        self._logs.processes.append(self._log, record, _KEPT)
                elif has_ended:
                    self._fail(_PROCESS_ENDED)
                    return
                else:
                    # What it stored before its end is on the next page.
                    has_ended = not await self._is_produced()

    def _take(self, entry: Entry) -> bool:
        """Send an event; False if the stream has ended."""
        record = _unpack(entry.data)
        if record.kind == _INCOMPLETE:
            self._fail(_LOST)
            return False
        if record.kind == _EVENT and (not record.number or record.number > self._last.number):
            self._last = record
            if record.message:
                # Never dropped: the connection is the only one.
                id = f"{self.stream}_{entry.position}".encode()
                self.reply.event(record.message, id=id, is_answer=True)
        if record.kind == _END:
            self.reply.stop()
            return False
        return True

    async def _is_produced(self) -> bool:
        try:
            return await self._logs.processes.is_alive(self._last.node)
        except StoreError:
            return True

    def _fail(self, error: RpcError) -> None:
        for id in self._last.requests:
            self.reply.event(codec.encode_error(id, error), is_answer=True)
        self.reply.stop()


def _pack(record: _Record) -> bytes:
    return msgspec.msgpack.encode(record)


def _unpack(data: bytes) -> _Record:
    try:
        return msgspec.msgpack.decode(data, type=_Record)
    except msgspec.DecodeError as error:
        raise StoreError(f"an event of another version cannot be read: {error}") from None
