"""Small stand-ins for what surrounds a call: an era, an outbox, a link, a run to interrupt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, TypeVar

from msgspec import Raw, Struct

from dovetail.core.call import Ask, Call, ClientChannels, Peer
from dovetail.core.era import CacheHint, Era
from dovetail.core.identity import Identity
from dovetail.eras.modern.subscriptions import ListenStream
from dovetail.errors import DovetailError, UsageError
from dovetail.spec.methods import METHODS
from dovetail.spec.models import Implementation, InitializeParams, Params
from dovetail.spec.revisions import LATEST_LEGACY, Revision
from dovetail.wire import codec
from tests.patience import CAP

T = TypeVar("T")

NOBODY = Peer(None, {}, None)


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


class FakeOutbox:
    """Keeps what is sent; `drained` counts how often somebody waited for a slow reader."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.drained = 0

    def send(self, message: bytes) -> None:
        self.sent.append(message)

    async def drain(self) -> None:
        self.drained += 1

    @property
    def messages(self) -> list[Any]:
        return [json.loads(message) for message in self.sent]


class FakeLink:
    """Keeps the sessions that are started and the streams that are open."""

    channels = ClientChannels()

    def __init__(self) -> None:
        self.started: list[tuple[Revision, InitializeParams]] = []
        self.streams: list[ListenStream] = []

    def start_session(self, revision: Revision, params: InitializeParams) -> None:
        self.started.append((revision, params))

    def open_stream(self, stream: ListenStream) -> None:
        self.streams.append(stream)

    def close_stream(self, stream: ListenStream) -> None:
        self.streams.remove(stream)


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
    """A call with an outbox and a link of its own."""
    if isinstance(params, bytes):
        [kind, *_] = [m.params for m in METHODS if m.name == method] or [Params]
        params = codec.decode_as(kind, params)
    call = Call(id, method, params, era or PlainEra(LATEST_LEGACY), peer)
    call.outbox = FakeOutbox()
    call.link = FakeLink()
    return call


def sent_by(call: Call) -> list[Any]:
    """The messages that a call from `make_call` has sent."""
    assert isinstance(call.outbox, FakeOutbox)
    return call.outbox.messages


def make_identity(
    capabilities: dict[str, Any] | None = None,
    *,
    instructions: str | None = None,
    extensions: dict[str, Any] | None = None,
) -> Identity:
    """A server called s that has declared `capabilities`."""
    declared = capabilities or {}
    implementation = Implementation(name="s", version="1", title="S", description="a server")
    return Identity(implementation, instructions, lambda: declared, extensions or {})


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
        self._call.running = True
        try:
            return await task
        except asyncio.CancelledError:
            if self._outcome is None:
                raise
            raise self._outcome from None
        finally:
            self._call.interruption = None
            self._call.running = False
