"""Fakes of what surrounds a call: an era, a link, a run to interrupt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

from msgspec import Raw, Struct

from dovetail.core.call import Ask, Call, Peer
from dovetail.core.call_state import RUNNING
from dovetail.core.changes import ChangeStream
from dovetail.core.era import CacheHint, Era
from dovetail.core.identity import Identity
from dovetail.core.link import ClientChannels, ClientSession, Link, Outgoing
from dovetail.core.options import Options
from dovetail.eras.legacy.session import LegacySession, session_of
from dovetail.errors import DovetailError, UsageError
from dovetail.extensions.binding import Extensions
from dovetail.spec.methods import METHODS
from dovetail.spec.models import Implementation, InitializeParams, Params
from dovetail.spec.revisions import LATEST_LEGACY, Revision
from dovetail.wire import codec
from dovetail.wire.messages import Notification
from tests.patience import CAP

T = TypeVar("T")

NOBODY = Peer(None, {}, None)
# What the runner reads of a server.
SERVICES: Any = SimpleNamespace(options=Options())


def drive(running: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine."""

    async def limited() -> T:
        async with asyncio.timeout(CAP):
            return await running

    return asyncio.run(limited())


async def settle(turns: int = 10) -> None:
    """Let the event loop go round a few times; nothing here waits for a clock."""
    for _ in range(turns):
        await asyncio.sleep(0)


class FakeRequest(NamedTuple):
    """The parts of a request that a guard reads."""

    headers: dict[bytes, bytes]
    scope: dict[str, Any]


def make_request(headers: dict[bytes, bytes], **scope: Any) -> FakeRequest:
    return FakeRequest(headers, scope)


class FakeLink:
    """Keeps what is sent, the sessions that are started and the streams that are open."""

    def __init__(self) -> None:
        self.channels = ClientChannels()
        self.session: ClientSession | None = None
        self.sent: list[bytes] = []
        self.unrelated: list[bytes] = []
        # How often somebody waited for a slow client.
        self.drained = 0
        self.started: list[tuple[Revision, InitializeParams]] = []
        self.streams: list[ChangeStream] = []

    def send(self, message: Outgoing) -> None:
        self.sent.append(codec.encode_message(message))

    async def drain(self) -> None:
        self.drained += 1

    def send_unrelated(self, message: Notification) -> None:
        self.unrelated.append(codec.encode_message(message))

    def disconnect(self, retry_ms: int) -> None: ...

    def start_session(self, revision: Revision, params: InitializeParams) -> None:
        self.started.append((revision, params))

    def open_stream(self, stream: ChangeStream) -> None:
        self.streams.append(stream)

    def close_stream(self, stream: ChangeStream) -> None:
        self.streams.remove(stream)

    def after_response(self) -> Link:
        return self

    @property
    def messages(self) -> list[Any]:
        return [json.loads(message) for message in self.sent]


class PlainEra(Era):
    """An era that stamps results with what it was told, so that a test can see it."""

    def complete(
        self, result: Struct | dict[str, Any] | Raw, hint: CacheHint | None = None
    ) -> bytes:
        return codec.encode({"hint": hint, "result": result})

    def undeclared(self, call: Call, required: dict[str, Any]) -> DovetailError:
        return UsageError(f"undeclared {required}")

    def bad_answer(self, text: str) -> DovetailError:
        return UsageError(text)

    async def ask(self, call: Call, ask: Ask) -> Raw:
        return Raw(b"{}")


def make_call(
    method: str = "tools/call",
    params: bytes | Params = b'{"name":"t"}',
    *,
    era: Era | None = None,
    id: bytes = b"1",
    peer: Peer = NOBODY,
) -> Call:
    """A call with a link of its own."""
    if isinstance(params, bytes):
        [kind, *_] = [m.params for m in METHODS if m.name == method] or [Params]
        params = codec.decode_as(kind, params)
    call = Call(id, method, params, era or PlainEra(LATEST_LEGACY), peer)
    call.link = FakeLink()
    call.services = SERVICES
    return call


def sent_by(call: Call) -> list[Any]:
    """The messages that a call from `make_call` has sent."""
    assert isinstance(call.link, FakeLink)
    return call.link.messages


def in_session(call: Call, session: LegacySession) -> LegacySession:
    """Put a call from `make_call` into a session."""
    assert isinstance(call.link, FakeLink)
    call.link.session = session
    return session


def session_in(call: Call) -> LegacySession:
    """The session that a call was put into."""
    session = session_of(call)
    assert session is not None
    return session


def make_identity(
    capabilities: dict[str, Any] | None = None,
    *,
    instructions: str | None = None,
    extensions: dict[str, Any] | None = None,
) -> Identity:
    """A server called s that has declared `capabilities`."""
    declared = capabilities or {}
    implementation = Implementation(name="s", version="1", title="S", description="a server")
    only_declared = Extensions()
    only_declared.only_declared.update(extensions or {})
    return Identity(implementation, instructions, lambda: declared, only_declared.declared_at)


class Run:
    """A handler's run that can be interrupted, as the server's runner does it.

    Whatever the run is told to come to replaces what the handler makes of being cancelled.
    """

    def __init__(self, call: Call) -> None:
        self._call = call
        self._outcome: Exception | None = None

    async def of(self, handler: Coroutine[Any, Any, T]) -> T:
        task = asyncio.ensure_future(handler)

        def interrupt(outcome: Exception) -> None:
            if self._outcome is None:
                self._outcome = outcome
                task.cancel()

        self._call.interruption = interrupt
        self._call.phase = RUNNING
        try:
            return await task
        except asyncio.CancelledError:
            if self._outcome is None:
                raise
            raise self._outcome from None
        finally:
            self._call.interruption = None
            self._call.phase = self._call.phase.left
