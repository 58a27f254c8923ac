"""Retries that reach another process of a cluster than the one that keeps the upstream call.

The sealed record names the process (its node). The answers are sent to it, and its outcome comes
back: the result, an error, or the next questions. Progress and log messages reach the retry on the
way; if its caller gives up, the process that keeps the call is told.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from msgspec import UNSET, Raw, Struct

from dovetail.core.call import Ask, Call
from dovetail.core.link import Outgoing
from dovetail.core.principal import owner_of
from dovetail.errors import RpcError, StoreError, ToolError
from dovetail.runtime.link import NullLink
from dovetail.runtime.processes import Processes
from dovetail.spec.models import Params
from dovetail.spec.revisions import Revision, find_revision
from dovetail.wire import codec
from dovetail_gateway.questions import CallLocation, KeptCall, KeptCalls, ask_in_retry, gone

__all__ = [
    "AskMessage",
    "FailureMessage",
    "Routed",
    "RoutedCalls",
    "read_asks",
    "write_asks",
]


class AskMessage(Struct, array_like=True):
    """A question to the client."""

    method: str
    params: Raw


def write_asks(asks: Mapping[str, Ask]) -> dict[str, AskMessage]:
    """Return questions as messages."""
    return {key: AskMessage(ask.method, Raw(ask.params or b"{}")) for key, ask in asks.items()}


def read_asks(messages: Mapping[str, AskMessage]) -> dict[str, Ask]:
    """Return the questions of messages."""
    return {key: Ask(key, each.method, bytes(each.params)) for key, each in messages.items()}


class FailureMessage(Struct):
    """An error to answer a call with; without a code, the text of a failed tool."""

    message: str
    code: int | None = None
    data: Any = None

    @classmethod
    def from_error(cls, error: RpcError | ToolError) -> FailureMessage:
        """Return the message for an error."""
        if isinstance(error, RpcError):
            return cls(error.message, error.code, error.data)
        return cls(str(error))

    def to_error(self) -> RpcError | ToolError:
        """Return the error."""
        if self.code is None:
            return ToolError(self.message)
        return RpcError.from_wire(self.code, self.message, self.data)


class Routed(NamedTuple):
    """The result of a call that another process kept, and the revision that it is written in."""

    raw: Raw
    revision: Revision


class _Retry(Struct, array_like=True):
    """What the process that keeps the call gets."""

    id: str
    owner: str | None
    # Names this attempt in messages to and from the process that keeps the call.
    attempt: str
    meta: Raw
    answers: dict[str, Raw]


class _Outcome(Struct, omit_defaults=True):
    """What it answers: a result with its revision, questions, or a failure."""

    result: Raw = Raw()
    revision: str = ""
    asks: dict[str, AskMessage] = {}
    failure: FailureMessage | None = None


class _Message(Struct, array_like=True):
    attempt: str
    method: str
    params: Raw


class RoutedCalls:
    """Sends retries to the process that keeps their call, and answers those of other processes.

    `read` returns the result of an ended call, or raises the error to answer with.
    """

    def __init__(self, kept: KeptCalls, read: Callable[[KeptCall], Routed]) -> None:
        self._kept = kept
        self._read = read
        self._processes: Processes | None = None
        self._topic = ""
        # Own calls that wait here for the outcome of a call elsewhere, and own kept calls that
        # continue for a caller elsewhere, by attempt.
        self._waiting: dict[str, Call] = {}
        self._continued: dict[str, KeptCall] = {}

    def join(self, processes: Processes, topic: str) -> None:
        """Exchange calls with the processes of a cluster; `topic` names this proxy there."""
        self._processes, self._topic = processes, topic
        processes.on_request(f"{topic}:retry", self._answer)
        processes.on_message(f"{topic}:ended", self._end)
        processes.on_message(f"{topic}:message", self._pass_on)

    def place_of(self, kept: KeptCall) -> CallLocation:
        """Return where this process keeps a call."""
        return CallLocation(kept.id, "" if self._processes is None else self._processes.node)

    def is_elsewhere(self, place: CallLocation) -> bool:
        """Whether another process keeps the call."""
        return self._processes is not None and place.node not in ("", self._processes.node)

    async def go_on(self, call: Call, place: CallLocation) -> Routed:
        """Continue a call that another process keeps; raises what that process answers."""
        processes = self._processes
        assert processes is not None
        attempt = secrets.token_hex(8)
        retry = _Retry(
            place.id,
            owner_of(call.principal),
            attempt,
            Raw(b"{}") if call.params.meta is UNSET else call.params.meta,
            {key: given.value for key, given in call.record.answers.items()},
        )
        self._waiting[attempt] = call
        try:
            raw = await processes.request(place.node, f"{self._topic}:retry", codec.encode(retry))
        except asyncio.CancelledError:
            processes.send(place.node, f"{self._topic}:ended", attempt.encode())
            raise
        except StoreError:
            if processes.problem is not None:
                raise
            # The process has ended, and the call with it.
            raise gone() from None
        finally:
            del self._waiting[attempt]
        return _read_outcome(call, place, raw)

    # -- in the process that keeps the call -----------------------------------------------------

    async def _answer(self, node: str, message: bytes) -> bytes:
        retry = codec.decode_as(_Retry, message)
        try:
            kept = self._kept.take(retry.id, retry.owner)
            kept.go_on(self._stand_in(kept.forwarding.call, node, retry), retry.answers)
            self._continued[retry.attempt] = kept
            try:
                outcome = await self._finish(kept)
            except asyncio.CancelledError:
                kept.end()
                raise
            finally:
                del self._continued[retry.attempt]
        except (RpcError, ToolError) as error:
            outcome = _Outcome(failure=FailureMessage.from_error(error))
        return codec.encode(outcome)

    async def _finish(self, kept: KeptCall) -> _Outcome:
        asks = await kept.outcome()
        if asks is None:
            raw, revision = self._read(kept)
            return _Outcome(raw, revision.date)
        self._kept.keep(kept)
        return _Outcome(asks=write_asks(asks))

    def _stand_in(self, first: Call, node: str, retry: _Retry) -> Call:
        """Return the call that gets progress and log messages in place of the retry."""
        call = Call(first.id, first.method, Params(meta=retry.meta), first.era, first.peer)
        call.services, call.principal = first.services, first.principal
        assert self._processes is not None
        topic = f"{self._topic}:message"
        call.link = _NodeLink(self._processes, node, topic, retry.attempt)
        return call

    def _end(self, node: str, message: bytes) -> None:
        # Not at once: the request that it follows may not have begun.
        asyncio.get_running_loop().call_soon(self._give_up, message.decode())

    def _give_up(self, attempt: str) -> None:
        kept = self._continued.get(attempt)
        if kept is not None:
            kept.end()

    # -- in the process that got the retry ------------------------------------------------------

    def _pass_on(self, node: str, message: bytes) -> None:
        told = codec.decode_as(_Message, message)
        call = self._waiting.get(told.attempt)
        if call is not None:
            call.notify(told.method, bytes(told.params))


class _NodeLink(NullLink):
    """Sends the messages of a call to the process that its caller is connected to."""

    __slots__ = ("_attempt", "_node", "_processes", "_topic")

    def __init__(self, processes: Processes, node: str, topic: str, attempt: str) -> None:
        self._processes = processes
        self._node = node
        self._topic = topic
        self._attempt = attempt

    def send(self, message: Outgoing) -> None:
        """Send a notification; there are no requests to a modern caller."""
        told = _Message(self._attempt, message.method, message.params or Raw(b"{}"))
        self._processes.send(self._node, self._topic, codec.encode(told))


def _read_outcome(call: Call, place: CallLocation, raw: bytes) -> Routed:
    outcome = codec.decode_as(_Outcome, raw)
    if outcome.failure is not None:
        raise outcome.failure.to_error()
    revision = find_revision(outcome.revision)
    if revision is not None:
        return Routed(outcome.result.copy(), revision)
    raise ask_in_retry(call, place, read_asks(outcome.asks))
