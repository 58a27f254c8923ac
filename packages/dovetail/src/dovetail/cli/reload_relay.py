"""Routes messages between a client and the server processes that serve it one after another.

Requests of a server to the client get new ids: those of two processes would collide.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from collections.abc import Callable, Iterable

from msgspec import Raw

from dovetail.cli.reload_record import (
    LISTEN,
    ReloadRecord,
    is_replayed,
    list_changes,
    stream_of,
)
from dovetail.errors import InternalError, RpcError
from dovetail.features.cancellation import read_cancellation
from dovetail.runtime.message_handler import refuse_message
from dovetail.wire import codec
from dovetail.wire.framing import encode_line
from dovetail.wire.messages import Batch, Incoming, Notification, Request, Response

__all__ = ["Child", "Relay"]

_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_CANCELLED = "notifications/cancelled"
_NOT_RUNNING = "The server is not running; its log says why. It restarts when a file changes."
_ENDED = "The server ended before it answered this request; send it again."


class Child:
    """A server process, and what is open between it and the client."""

    def __init__(self, process: Process) -> None:
        self.process = process
        # Passes its output on.
        self.reading: asyncio.Future[None] | None = None
        # Requests of the client that are not answered yet, by id.
        self.in_flight: dict[bytes, Request] = {}
        # Requests to the client that are not answered yet: the id that it sees, by the child's id.
        self.asks: dict[bytes, bytes] = {}
        # Listen streams that an earlier child opened and that are not acknowledged again yet.
        self.continued: set[bytes] = set()
        # Whether another child is about to continue its listen streams.
        self.is_replaced = False

    def send(self, line: bytes) -> None:
        """Pass a line to the process."""
        stdin = self.process.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(encode_line(line))


class Relay:
    """Passes lines between the client and its current child; lines wait while there is none yet."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        """`send` passes a line to the client."""
        self._send = send
        self._record = ReloadRecord()
        self.child: Child | None = None
        self._children: list[Child] = []
        # Lines of the client that wait for a child; None if they need not wait.
        self._held: list[bytes] | None = []
        # The child, and the id that it uses, by the id that the client sees.
        self._asks: dict[bytes, tuple[Child, bytes]] = {}
        self._last_ask = 0

    # -- changing the child ---------------------------------------------------------------------

    def hold(self) -> None:
        """Let the messages of the client wait from now on."""
        self._held = self._held or []

    def resume(self, child: Child | None) -> None:
        """Use a new child, or none: then requests are refused."""
        self.child = child
        if child is not None:
            self._children.append(child)
            for stream in self._record.streams:
                child.continued.add(stream.id)
                child.in_flight[stream.id] = stream
            for line in self._record.replay():
                child.send(line)
            for line in self._record.list_changes():
                self._send(line)
        held, self._held = self._held or [], None
        for line in held:
            self.receive(line)

    def drop(self, child: Child) -> None:
        """Answer what a child that has ended left open."""
        if child in self._children:
            self._children.remove(child)
        if self.child is child:
            self.child = None
        for request in child.in_flight.values():
            if request.method != LISTEN:
                self._send(codec.encode_error(request.id, InternalError(_ENDED)))
        for id in child.asks.values():
            del self._asks[id]
            self._send(_cancellation(id, "the server has ended"))

    # -- from the client ------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Pass a line of the client on, or answer it."""
        message = codec.decode(data)
        if isinstance(message, Response):
            self._pass_answer(message)
        elif isinstance(message, Notification) and self._pass_cancellation(message, data):
            return
        elif self._held is not None:
            self._held.append(data)
        elif self.child is None:
            refusal = refuse_message(message, InternalError(_NOT_RUNNING))
            if refusal is not None:
                self._send(refusal)
        else:
            for each in _parts(message):
                if isinstance(each, Request | Notification):
                    self._record.sent(each)
                if isinstance(each, Request):
                    self.child.in_flight[each.id] = each
            self.child.send(data)

    def refuse(self, error: RpcError) -> None:
        """Answer a line that is too long."""
        self._send(codec.encode_error(None, error))

    def _pass_answer(self, response: Response) -> None:
        found = None if response.id is None else self._asks.pop(response.id, None)
        if found is not None:
            child, id = found
            del child.asks[id]
            child.send(_with_id(response, id))

    def _pass_cancellation(self, message: Notification, data: bytes) -> bool:
        """Whether this cancels a request in flight; then the child that has it is told."""
        cancellation = read_cancellation(message) if message.method == _CANCELLED else None
        if cancellation is None:
            return False
        self._record.cancelled(cancellation.id)
        for child in self._children:
            # A cancelled request is not answered.
            if child.in_flight.pop(cancellation.id, None) is not None:
                child.send(data)
                return True
        return False

    # -- from a child ---------------------------------------------------------------------------

    def take(self, child: Child, line: bytes) -> None:
        """Pass a line of a child on to the client."""
        message = codec.decode(line)
        if isinstance(message, Request):
            self._pass_request(child, message)
        elif isinstance(message, Notification):
            self._pass_notification(child, message, line)
        else:
            answers = [each for each in _parts(message) if isinstance(each, Response)]
            passes_on = [self._note_answer(child, answer) for answer in answers]
            if any(passes_on) or not answers:
                self._send(line)

    def _note_answer(self, child: Child, response: Response) -> bool:
        """Whether the client gets this response."""
        if is_replayed(response):
            return False
        request = None if response.id is None else child.in_flight.pop(response.id, None)
        if request is not None:
            if child.is_replaced and request.method == LISTEN:
                return False
            self._record.answered(request, response)
        return True

    def _pass_request(self, child: Child, request: Request) -> None:
        self._last_ask += 1
        id = codec.encode_id(self._last_ask)
        child.asks[request.id] = id
        self._asks[id] = (child, request.id)
        self._send(codec.encode_request(id, request.method, request.params))

    def _pass_notification(self, child: Child, message: Notification, line: bytes) -> None:
        if message.method == _ACKNOWLEDGED and child.continued:
            stream = stream_of(message)
            if stream in child.continued:
                child.continued.discard(stream)
                for change in list_changes(message):
                    self._send(change)
                return
        cancellation = read_cancellation(message) if message.method == _CANCELLED else None
        if cancellation is not None:
            id = child.asks.pop(cancellation.id, None)
            if id is not None:
                del self._asks[id]
                line = _cancellation(id, cancellation.reason)
            elif child.is_replaced and self._record.has_stream(cancellation.id):
                return
        self._send(line)


def _parts(message: Incoming) -> Iterable[object]:
    return message.items if isinstance(message, Batch) else (message,)


def _with_id(response: Response, id: bytes) -> bytes:
    if response.error is None:
        return codec.encode_result(id, bytes(response.result or b"{}"))
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (id, bytes(response.error))


def _cancellation(id: bytes, reason: str) -> bytes:
    params = codec.encode({"requestId": Raw(id), "reason": reason})
    return codec.encode_notification(_CANCELLED, params)
