"""The processes that share the state of a server: messages to all or to one, and who is alive.

A process is a node with a random name. Messages are entries of logs of the backend: one log for
all processes, and one for each. A process follows two of them and calls the handlers of a topic in
the order of the log. When entries were trimmed before they were read, or the backend has lost its
contents, it calls the handlers of `on_lost`.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import math
import secrets
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator

import msgspec
from msgspec import Struct

from dovetail.errors import StoreError
from dovetail.net.backoff import backoff
from dovetail.runtime.state import ServerState
from dovetail.state import Backend, LogPage, Published, Retention
from dovetail.state.backend import stop_task

__all__ = ["DEAD_AFTER", "Processes", "follow"]

logger: logging.Logger = logging.getLogger("dovetail")

# The name of the node that sent it, and the message.
MessageHandler = Callable[[str, bytes], Awaitable[None] | None]
RequestHandler = Callable[[str, bytes], Awaitable[bytes]]

# What a process may be behind. A log disappears a day after its last entry; its readers then take
# that for lost messages.
_KEPT = Retention(max_entries=20_000, max_bytes=4 * 1024 * 1024, max_age=86_400.0)
# Seconds between two signs of life, and after the last one until a node counts as dead.
_BEAT = 0.5
DEAD_AFTER = 2.0
# Seconds between two looks at a log about which no message has arrived.
_LOOK = 1.0
_PAGE = 1000
# Messages that wait while the backend cannot be used; beyond, all are dropped and the other
# processes are told so.
_MAX_WAITING = 10_000
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.5
# Seconds that closing waits for them.
_CLOSING = 0.5
# The topic of the message that tells others to look again, and of answers to requests.
_LOST = "lost"
_ANSWER, _FAILURE = "answer", "failure"


class _Message(Struct, array_like=True):
    node: str
    topic: str
    data: bytes
    # The id of the request that it is or that it answers.
    request: bytes = b""


class Processes:
    """The other processes, as this one knows them."""

    def __init__(self, state: ServerState) -> None:
        self.node: str = secrets.token_hex(6)
        # For metrics: messages of other processes, how often some may have been lost, and runs of
        # processes that have ended which go on in this one.
        self.messages = 0
        self.resets = 0
        self.taken_over = 0
        self._backend = state.backend
        self._state = state
        self._all = state.key("messages")
        self._handlers: dict[str, list[tuple[MessageHandler, bool]]] = {}
        self._request_handlers: dict[str, RequestHandler] = {}
        self._lost_handlers: list[Callable[[], None]] = []
        self._answers: dict[bytes, tuple[str, asyncio.Future[bytes]]] = {}
        # What is sent when the backend can be used: log, entry, and a number for entries that must
        # not be merged with equal ones.
        self._waiting: dict[tuple[str, bytes, int, Retention], None] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._is_sent = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        # When the backend was away the last time, or this process was.
        self._away_at = -math.inf

    @property
    def problem(self) -> str | None:
        """Why nothing can be sent at the moment; None if it can."""
        return self._backend.problem

    @property
    def is_open(self) -> bool:
        """Whether messages are sent."""
        return self._loop is not None

    # -- startup and shutdown -------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Follow the logs on entry; a backend that cannot be reached is tried again later."""
        self._loop = asyncio.get_running_loop()
        # A server may be opened again, on another event loop.
        self._wake, self._is_sent = asyncio.Event(), asyncio.Event()
        tried = [asyncio.Event(), asyncio.Event()]
        self._start(self._keep_alive(tried[0]))
        self._start(self._follow(self._all, tried[1]))
        self._start(self._follow(self._own, asyncio.Event()))
        self._start(self._send_waiting())
        try:
            for each in tried:
                await each.wait()
            yield
        finally:
            await self._close()

    async def _close(self) -> None:
        if self._waiting:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._is_sent.wait(), _CLOSING)
        for task in tuple(self._tasks):
            await stop_task(task)
        self._fail_answers("the server has been closed")
        with contextlib.suppress(StoreError):
            await self._backend.delete(self._key(self.node))
            await self._backend.drop(self._own)

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- liveness -------------------------------------------------------------------------------

    def _key(self, node: str) -> str:
        return self._state.key("node", node)

    async def _keep_alive(self, tried: asyncio.Event) -> None:
        """Store that this process lives, and find out when the backend can be used again."""
        backend, key, number = self._backend, self._key(self.node), 0
        while True:
            try:
                # Extending the time needs no memory, which may be exhausted.
                if await backend.get(key, ttl=DEAD_AFTER) is None:
                    self._note_absence()
                    await backend.set(key, b"", ttl=DEAD_AFTER)
                elif backend.problem is not None:
                    # Both kinds of writes: one with a condition may be forbidden alone.
                    number = await backend.set(key, b"", ttl=DEAD_AFTER) or 0
                    await backend.set(key, b"", ttl=DEAD_AFTER, version=number)
            except StoreError:
                self._note_absence()
            tried.set()
            await asyncio.sleep(_BEAT)

    def _note_absence(self) -> None:
        self._away_at = asyncio.get_running_loop().time()

    async def is_alive(self, node: str) -> bool:
        """Whether a node has reported in the last seconds; raises StoreError.

        While nobody could report, nobody is dead.
        """
        if node == self.node or await self._backend.get(self._key(node)) is not None:
            return True
        if await self._backend.get(self._key(self.node)) is None:
            self._note_absence()
        return asyncio.get_running_loop().time() - self._away_at < DEAD_AFTER

    # -- sending --------------------------------------------------------------------------------

    @property
    def _own(self) -> str:
        return self._log(self.node)

    def _log(self, node: str) -> str:
        return self._state.key("messages", node)

    def publish(self, topic: str, data: bytes) -> None:
        """Send to all other nodes; from any thread. Equal messages that wait are sent once."""
        self._add(self._all, _pack(_Message(self.node, topic, data)), 0, _KEPT)

    async def publish_now(self, topic: str, data: bytes) -> None:
        """Send to all other nodes before returning; raises StoreError."""
        await self._backend.append(self._all, _pack(_Message(self.node, topic, data)), _KEPT)

    def send(self, node: str, topic: str, data: bytes) -> None:
        """Send to one node; from any thread."""
        entry = _pack(_Message(self.node, topic, data))
        self._add(self._log(node), entry, next(self._numbers), _KEPT)

    def append(self, log: str, data: bytes, retention: Retention) -> None:
        """Append to another log as soon as the backend can be used; from any thread."""
        self._add(log, data, next(self._numbers), retention)

    def _add(self, log: str, entry: bytes, number: int, retention: Retention) -> None:
        if self._loop is None:
            # No client is connected yet, so there is nothing to announce.
            return
        with self._lock:
            if len(self._waiting) >= _MAX_WAITING:
                self._waiting.clear()
                lost = _pack(_Message(self.node, _LOST, b""))
                self._waiting[self._all, lost, 0, _KEPT] = None
            self._waiting[log, entry, number, retention] = None
        # RuntimeError: the loop is closed, and so is the server.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._wake.set)

    async def _send_waiting(self) -> None:
        """Send what waits, in order, for as long as it takes."""
        while True:
            self._wake.clear()
            pauses = backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
            while (item := next(iter(self._waiting), None)) is not None:
                self._is_sent.clear()
                log, entry, _, retention = item
                try:
                    await self._backend.append(log, entry, retention)
                except StoreError:
                    await asyncio.sleep(next(pauses))
                    continue
                pauses = backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
                with self._lock:
                    self._waiting.pop(item, None)
            self._is_sent.set()
            await self._wake.wait()

    async def request(self, node: str, topic: str, data: bytes) -> bytes:
        """Send to one node and return its answer; raises StoreError if it has ended."""
        if node == self.node:
            return await self._request_handlers[topic](node, data)
        id = secrets.token_bytes(12)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._answers[id] = node, answer
        try:
            if await self.is_alive(node):
                entry = _pack(_Message(self.node, topic, data, id))
                await self._backend.append(self._log(node), entry, _KEPT)
                while True:
                    done, _ = await asyncio.wait([answer], timeout=_BEAT)
                    if done:
                        return answer.result()
                    if not await self.is_alive(node):
                        break
            raise StoreError("the process that has this state has ended")
        finally:
            del self._answers[id]

    # -- receiving ------------------------------------------------------------------------------

    def on_message(self, topic: str, handler: MessageHandler, *, own: bool = False) -> None:
        """Handle messages of other nodes, with `own` also those of this one.

        A handler that returns a coroutine delays the messages that follow.
        """
        self._handlers.setdefault(topic, []).append((handler, own))

    def on_request(self, topic: str, handler: RequestHandler) -> None:
        """Answer requests of other nodes."""
        self._request_handlers[topic] = handler

    def on_lost(self, handler: Callable[[], None]) -> None:
        """Call `handler` when messages may have been lost, or the backend its contents."""
        self._lost_handlers.append(handler)

    async def _follow(self, log: str, tried: asyncio.Event) -> None:
        after = 0
        if log == self._all:
            # What was sent before does not concern this process.
            after = await self._begin(tried)
        async for page in follow(self._backend, log, after):
            if page.lost:
                self._note_loss(log)
            for entry in page.entries:
                await self._receive(entry.data)

    async def _begin(self, tried: asyncio.Event) -> int:
        """Append an entry to follow the log from."""
        entry = _pack(_Message(self.node, "", b""))
        pauses = backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while True:
            try:
                position = await self._backend.append(self._all, entry, _KEPT)
            except StoreError:
                tried.set()
                await asyncio.sleep(next(pauses))
                continue
            if tried.is_set():
                # Clients of this process may know what others have changed meanwhile.
                self._lose()
            tried.set()
            return position or 0

    def _note_loss(self, log: str) -> None:
        logger.warning("messages of other processes may be lost; clients are told to look again")
        if log == self._own:
            # Nobody else knows which requests were among them.
            self.publish(_LOST, b"")
        self._lose()

    def _lose(self) -> None:
        self.resets += 1
        self._fail_answers("messages between the processes were lost")
        for handler in self._lost_handlers:
            _call(handler)

    async def _receive(self, entry: bytes) -> None:
        try:
            message = msgspec.msgpack.decode(entry, type=_Message)
        except msgspec.DecodeError:
            logger.warning("ignored a message of another version: %.100r", entry)
            return
        node, topic, request = message.node, message.topic, message.request
        self.messages += node != self.node
        if topic == _LOST:
            if node != self.node:
                self._lose()
        elif topic in (_ANSWER, _FAILURE):
            self._take_answer(request, topic, message.data)
        elif request:
            self._start(self._answer(node, topic, message.data, request))
        else:
            for handler, own in self._handlers.get(topic, ()):
                if own or node != self.node:
                    await _call_and_wait(handler, node, message.data)

    async def _answer(self, node: str, topic: str, data: bytes, request: bytes) -> None:
        handler = self._request_handlers.get(topic)
        try:
            if handler is None:
                raise StoreError(f"the process does not know {topic!r}")
            reply, outcome = await handler(node, data), _ANSWER
        except StoreError as error:
            reply, outcome = error.reason.encode(), _FAILURE
        except Exception:
            logger.exception("a request of another process failed")
            reply, outcome = b"another process failed; its log has the details", _FAILURE
        entry = _pack(_Message(self.node, outcome, reply, request))
        self._add(self._log(node), entry, next(self._numbers), _KEPT)

    def _take_answer(self, request: bytes, outcome: str, data: bytes) -> None:
        _, waiting = self._answers.get(request, ("", None))
        if waiting is None or waiting.done():
            return
        if outcome == _ANSWER:
            waiting.set_result(data)
        else:
            waiting.set_exception(StoreError(data.decode()))

    def _fail_answers(self, reason: str) -> None:
        for _, waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(StoreError(reason))


async def follow(
    backend: Backend, log: str, after: int = 0, *, every: float = _LOOK
) -> AsyncGenerator[LogPage, None]:
    """The pages of a log after a position, without end.

    A page without entries follows about each `every` seconds, also while the backend cannot be
    used. After one with `lost` and without entries, the log is read from its beginning. Close it
    with `contextlib.aclosing`.
    """
    pauses: Iterator[float] | None = None
    async with backend.subscribe(log) as messages:
        while True:
            try:
                page = await backend.read(log, after, _PAGE)
            except StoreError:
                pauses = pauses or backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
                yield LogPage([], lost=False)
                await asyncio.sleep(next(pauses))
                continue
            pauses = None
            if page.entries:
                after = page.entries[-1].position
            elif page.lost:
                after = 0
            yield page
            if len(page.entries) < _PAGE:
                await _wait(messages, every)


async def _wait(messages: AsyncIterator[Published], seconds: float) -> None:
    """Wait for a message, and take those that have arrived with it: one read serves all."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await anext(messages)
        async with asyncio.timeout(0):
            while True:
                await anext(messages)


async def _call_and_wait(handler: MessageHandler, node: str, data: bytes) -> None:
    try:
        result = handler(node, data)
        if result is not None:
            await result
    except Exception:
        logger.exception("a message of another process could not be handled")


def _call(handler: Callable[[], None]) -> None:
    try:
        handler()
    except Exception:
        logger.exception("a handler of lost messages failed")


def _pack(message: _Message) -> bytes:
    return msgspec.msgpack.encode(message)
