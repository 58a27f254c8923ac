"""One process of a cluster on Redis: broadcasts, messages and requests between processes.

NAME is the name of the server, after that in the URL if there is one.

dovetail:NAME:format        the version of the records, and an identifier of the contents
dovetail:NAME:bus           messages to all nodes (a stream)
dovetail:NAME:inbox:NODE    messages to one node (a stream)
dovetail:NAME:node:NODE     exists while the node is alive
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

from dovetail.errors import StoreError
from dovetail.state.redis_url import RedisUrl
from dovetail.stores.cluster import ClusterStatistics, MessageHandler, RequestHandler
from dovetail.stores.redis.client import RedisClient
from dovetail.stores.redis.connection import RedisConnection
from dovetail.stores.redis.feed import RedisFeed
from dovetail.stores.redis.resp import Argument

__all__ = ["FORMAT", "RedisNode"]

logger = logging.getLogger("dovetail")

# The version of all records; processes with different ones refuse to share a cluster.
FORMAT = 1
# Messages kept in a stream; a node that is further behind is reset.
_MAX_MESSAGES = 20_000
# Seconds between two signs of life, and after the last one until a node counts as dead.
_HEARTBEAT = 0.5
_DEAD_AFTER = 2.0
# Seconds after which the streams of nodes that have all ended expire.
_INBOX_SECONDS = 60
_BUS_SECONDS = 86_400
# Attempts to send an answer, one per heartbeat.
_ANSWER_ATTEMPTS = 5
_RESET = "reset"


class RedisNode:
    """A `Cluster` on Redis."""

    def __init__(self, url: RedisUrl, name: str) -> None:
        self.node = secrets.token_hex(6)
        self.statistics = ClusterStatistics()
        # A name in the URL comes first: one URL may serve several servers of a process.
        self._prefix = f"dovetail:{name if url.name is None else f'{url.name}/{name}'}:"
        self.client = RedisClient(url, prepare=self._join)
        self._bus = self.key("bus")
        streams = (self._bus, self._inbox(self.node))
        self._feed = RedisFeed(
            url, streams, self._receive, self._reset, self._note_emptied, self._identify
        )
        self._messages: dict[str, list[MessageHandler]] = {}
        self._requests: dict[str, RequestHandler] = {}
        self._resets: list[Callable[[], None]] = []
        self._emptied: list[Callable[[], None]] = []
        self._answers: dict[bytes, asyncio.Future[bytes]] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._beat: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        # Whether a broadcast could not be sent, so that the others must be reset.
        self._owes_reset = False

    def key(self, *parts: str) -> bytes:
        """The Redis key of these parts, in the namespace of the cluster."""
        return (self._prefix + ":".join(parts)).encode()

    def _inbox(self, node: str) -> bytes:
        return self.key("inbox", node)

    @property
    def problem(self) -> str | None:
        """Why the cluster cannot be used at the moment; None if it can."""
        if self.client.problem is not None:
            return self.client.problem
        if self._feed.problem is not None:
            return f"messages of other processes cannot be received: {self._feed.problem}"
        return None

    # -- startup and shutdown -------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Connect on entry, leave the cluster on exit."""
        try:
            await self.open()
            yield
        finally:
            await self.close()

    async def open(self) -> None:
        """Connect and report for the first time; an unreachable Redis is tried again later."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        await self.client.open()
        await self._feed.open()
        self._beat = asyncio.create_task(self._keep_reporting())

    async def close(self) -> None:
        """Leave the cluster."""
        tasks = [task for task in (self._beat, *self._running) if task is not None]
        for task in tasks:
            task.cancel()
        try:
            if tasks:
                await asyncio.wait(tasks)
            with contextlib.suppress(StoreError):
                await self.client.do("DEL", self.key("node", self.node), self._inbox(self.node))
        finally:
            await self._feed.close()
            await self.client.close()
            self._fail_answers("the server has been closed")

    async def _join(self, connection: RedisConnection) -> None:
        await self._identify(connection)
        try:
            await self._report(lambda *command: connection.send(command))
        except StoreError as error:
            # What is stored can still be read.
            if "OOM" not in error.reason:
                raise

    async def _identify(self, connection: RedisConnection) -> bytes:
        """The identifier of the contents; raises StoreError if they have another format."""
        key = self.key("format")
        own = f"{FORMAT} {secrets.token_hex(8)}"
        found = await connection.send(("GET", key))
        if found is None:
            await connection.send(("SET", key, own, "NX"))
            found = await connection.send(("GET", key))
        version, _, contents = (found or b"").partition(b" ")
        if version != b"%d" % FORMAT:
            raise StoreError(
                f"its records have the format {version.decode('ascii', 'replace'):.20}, "
                f"this version needs {FORMAT}; use the same version in all processes, or another "
                "name in the URL (?name=NAME)"
            )
        return bytes(contents)

    async def _keep_reporting(self) -> None:
        while True:
            await asyncio.sleep(_HEARTBEAT)
            with contextlib.suppress(StoreError):
                await self._report(self.client.do)
                if self._owes_reset:
                    self._owes_reset = False
                    self.publish(_RESET, b"")

    async def _report(self, do: Callable[..., Awaitable[Any]]) -> None:
        """Tell that the node is alive, and keep its keys from expiring."""
        # A key whose time is extended needs no memory, which may be exhausted.
        alive, milliseconds = self.key("node", self.node), round(_DEAD_AFTER * 1000)
        if not await do("PEXPIRE", alive, milliseconds):
            await do("SET", alive, 1, "PX", milliseconds)
        await do("EXPIRE", self._bus, _BUS_SECONDS)
        inbox = self._inbox(self.node)
        if not await do("EXPIRE", inbox, _INBOX_SECONDS):
            # Others send only to an inbox that exists, so an entry for nobody makes one.
            await do("XADD", inbox, "*", "n", "", "t", "", "m", "")
            await do("EXPIRE", inbox, _INBOX_SECONDS)

    async def is_alive(self, node: str) -> bool:
        """Whether a node has reported in the last seconds; raises StoreError."""
        if node == self.node or await self.client.do("EXISTS", self.key("node", node)):
            return True
        # Nobody could report while Redis was away.
        return self.client.seconds_since_return < _DEAD_AFTER

    # -- sending --------------------------------------------------------------------------------

    def publish(self, topic: str, message: bytes) -> None:
        """Send to all other nodes; from any thread. If it cannot be sent, they are reset later."""
        if threading.get_ident() == self._thread:
            self._publish(topic, message)
        elif self._loop is not None:
            # RuntimeError: the loop is closed, and so is the server.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._publish, topic, message)

    def _publish(self, topic: str, message: bytes) -> None:
        try:
            sent = self.client.send(*self._entry(self._bus, topic, message))
        except StoreError:
            self._owes_reset = True
            return
        sent.add_done_callback(self._note_failure)

    def _note_failure(self, sent: asyncio.Future[bytes]) -> None:
        if sent.cancelled() or sent.exception() is not None:
            self._owes_reset = True

    async def publish_and_wait(self, topic: str, message: bytes) -> None:
        """Send to all other nodes, and return when it was sent to those that are connected."""
        # Redis sends a message to all waiting readers at once, this node among them.
        await self._feed.reached(await self.client.do(*self._entry(self._bus, topic, message)))

    def broadcast(self, topic: str, message: bytes) -> tuple[Argument, ...]:
        """The command that publishes a message, for scripts that publish what they change."""
        return self._entry(self._bus, topic, message)

    def send(self, node: str, topic: str, message: bytes) -> None:
        """Send to one node, if it exists."""
        with contextlib.suppress(StoreError):
            self.client.post(*self._letter(node, topic, message))

    async def request(self, node: str, topic: str, message: bytes) -> bytes:
        """Send to one node and return its answer; raises StoreError if it is gone."""
        if node == self.node:
            # Messages of this node to itself are not delivered.
            return await self._requests[topic](node, message)
        id = secrets.token_bytes(12)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._answers[id] = answer
        try:
            if await self.is_alive(node):
                sent = await self.client.do(*self._letter(node, topic, message), "r", id)
                while sent is not None:
                    done, _ = await asyncio.wait([answer], timeout=_HEARTBEAT)
                    if done:
                        return answer.result()
                    if not await self.is_alive(node):
                        break
            raise StoreError("the process that has this state has ended")
        finally:
            del self._answers[id]

    def _entry(self, stream: bytes, topic: str, message: bytes) -> tuple[Argument, ...]:
        # fmt: off
        return (
            "XADD", stream, "MAXLEN", "~", _MAX_MESSAGES, "*",
            "n", self.node, "t", topic, "m", message,
        )
        # fmt: on

    def _letter(self, node: str, topic: str, message: bytes) -> tuple[Argument, ...]:
        # NOMKSTREAM: the inbox of a node that has ended must not be made again.
        name, stream, *rest = self._entry(self._inbox(node), topic, message)
        return (name, stream, "NOMKSTREAM", *rest)

    # -- receiving ------------------------------------------------------------------------------

    def on_message(self, topic: str, handler: MessageHandler) -> None:
        """Handle messages of other nodes; a topic may have several handlers."""
        self._messages.setdefault(topic, []).append(handler)

    def on_request(self, topic: str, handler: RequestHandler) -> None:
        """Answer requests of other nodes."""
        self._requests[topic] = handler

    def on_reset(self, handler: Callable[[], None]) -> None:
        """Call `handler` when messages may have been lost, or the store has lost its contents."""
        self._resets.append(handler)

    def on_emptied(self, handler: Callable[[], None]) -> None:
        """Call `handler` when the store has lost its contents; `on_reset` handlers run as well."""
        self._emptied.append(handler)

    def _reset(self) -> None:
        self.statistics.resets += 1
        self._fail_answers("messages between the processes were lost")
        _call_each(self._resets)

    def _note_emptied(self) -> None:
        _call_each(self._emptied)

    def _receive(self, fields: dict[bytes, bytes]) -> None:
        node, topic = fields[b"n"].decode(), fields[b"t"].decode()
        message, request = fields[b"m"], fields.get(b"r")
        if node == self.node:
            return
        self.statistics.messages += 1
        if topic == _RESET:
            self._reset()
        elif request is None:
            for handler in self._messages.get(topic, ()):
                handler(node, message)
        elif topic in ("answer", "failure"):
            self._take_answer(request, topic, message)
        else:
            task = asyncio.create_task(self._answer(node, topic, message, request))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _answer(self, node: str, topic: str, message: bytes, request: bytes) -> None:
        handler = self._requests.get(topic)
        try:
            if handler is None:
                raise StoreError(f"the process does not know {topic!r}")
            reply, outcome = await handler(node, message), "answer"
        except StoreError as error:
            reply, outcome = error.reason.encode(), "failure"
        except Exception:
            logger.exception("a request of another process failed")
            reply, outcome = b"another process failed; its log has the details", "failure"
        # The other node waits for it as long as this one is alive.
        for _ in range(_ANSWER_ATTEMPTS):
            with contextlib.suppress(StoreError):
                await self.client.do(*self._letter(node, outcome, reply), "r", request)
                return
            await asyncio.sleep(_HEARTBEAT)

    def _take_answer(self, request: bytes, outcome: str, message: bytes) -> None:
        waiting = self._answers.get(request)
        if waiting is None or waiting.done():
            return
        if outcome == "answer":
            waiting.set_result(message)
        else:
            waiting.set_exception(StoreError(message.decode()))

    def _fail_answers(self, reason: str) -> None:
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(StoreError(reason))


def _call_each(handlers: Iterable[Callable[[], None]]) -> None:
    for handler in handlers:
        try:
            handler()
        except Exception:
            logger.exception("a handler of lost messages failed")
