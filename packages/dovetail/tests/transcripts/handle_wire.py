"""Transcripts through `server.handle`: every message stands alone."""

from __future__ import annotations

import asyncio

from dovetail.spec.revisions import Family, Revision
from tests.transcripts.server import PRINCIPALS, make_server

__all__ = ["HandleWire"]


class HandleWire:
    """Calls `handle` for each line, in tasks that run side by side."""

    def __init__(self, variant: str, revision: Revision) -> None:
        self._server = make_server(variant)
        self._principal = PRINCIPALS.get(variant)
        is_legacy = revision.family is Family.LEGACY
        self._revision = {"revision": revision.date} if is_legacy else {}
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._running: set[asyncio.Task[None]] = set()

    async def send(self, line: bytes) -> None:
        task = asyncio.create_task(self._handle(line))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        # The first step of the handler runs before the next line is sent.
        await asyncio.sleep(0)

    async def _handle(self, line: bytes) -> None:
        answer = await self._server.handle(
            line, self._lines.put_nowait, principal=self._principal, **self._revision
        )
        if answer is not None:
            self._lines.put_nowait(answer)

    async def receive(self) -> bytes | None:
        return await self._lines.get()

    async def close(self) -> None:
        for task in tuple(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._server.close()
        self._lines.put_nowait(None)
