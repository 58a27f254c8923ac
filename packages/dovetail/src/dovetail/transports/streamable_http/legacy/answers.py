"""Answers of clients to questions that another process has asked.

An answer is stored before it is acknowledged, and the process that asked is told. That process also
looks for its answers whenever messages may have been lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeAlias

from dovetail.errors import StoreError
from dovetail.runtime.state import ServerState
from dovetail.state import ABSENT
from dovetail.wire import codec
from dovetail.wire.messages import Response

__all__ = ["Answers"]

# Seconds for which an answer waits for its question, whose process may be paused.
_LIFETIME = 600.0
_RETRY = 0.25

# The name of a session and the id of a question.
_Question: TypeAlias = tuple[str, bytes]


class Answers:
    """The answers for one process, and those that it gets for others."""

    def __init__(
        self,
        state: ServerState,
        node: str,
        waiting: Callable[[], Iterable[_Question]],
        deliver: Callable[[str, Response], None],
    ) -> None:
        """`waiting` returns the open questions of this process, `deliver` takes an answer."""
        self._state = state
        self._node = node
        self._waiting = waiting
        self._deliver = deliver

    async def give(self, session: str, node: str, response: Response) -> None:
        """Store an answer where its question finds it; raises StoreError.

        A client that got an error may send it again: the first one counts.
        """
        backend, id = self._state.backend, response.id or b"null"
        await backend.set(self._key(session, id), _encode(response), ttl=_LIFETIME, version=ABSENT)
        await backend.publish(self._channel(node), f"{session} ".encode() + id)

    async def follow(self) -> None:
        """Take the answers to the questions of this process, until it is cancelled."""
        async with self._state.backend.subscribe(self._channel(self._node)) as messages:
            await self._take_all()
            async for message in messages:
                if message.data is None:
                    await self._take_all()
                else:
                    session, _, id = message.data.partition(b" ")
                    await self._take(session.decode(), id)

    async def _take_all(self) -> None:
        for question in tuple(self._waiting()):
            await self._take(*question)

    async def _take(self, session: str, id: bytes) -> None:
        backend, key = self._state.backend, self._key(session, id)
        while (session, id) in self._waiting():
            try:
                found = await backend.get(key)
            except StoreError:
                await asyncio.sleep(_RETRY)
                continue
            if found is not None:
                decoded = codec.decode(found.data)
                assert isinstance(decoded, Response)
                self._deliver(session, decoded)
                # Otherwise it expires.
                with suppress(StoreError):
                    await backend.delete(key)
            return

    def _key(self, session: str, id: bytes) -> str:
        return self._state.key("answer", session, id.hex())

    def _channel(self, node: str) -> str:
        return self._state.key("answers", node)


def _encode(response: Response) -> bytes:
    if response.result is not None:
        return codec.encode_result(response.id or b"null", bytes(response.result))
    error = bytes(response.error or b"null")
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (response.id or b"null", error)
