"""What sits around a foreign client in these tests: its user, its model, its eyes.

`Desk` is set by a test with the answers that the user and the model will give, and keeps
what the client was told. `Held` keeps one client and its server process for a whole
module, because starting them takes longer than most tests: the client lives in a task of
its own, and each test runs on the same event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

import mcp_types
from mcp_types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    LoggingMessageNotificationParams,
    TextContent,
)

from tests.deep.interop.greenhouse import Way
from tests.patience import CAP

__all__ = ["Desk", "Held", "say", "text_of"]

C = TypeVar("C")
D = TypeVar("D", bound="Desk")
N = TypeVar("N")
T = TypeVar("T")

Elicit = Callable[[ElicitRequestParams], ElicitResult | ErrorData]
Sample = Callable[
    [CreateMessageRequestParams], CreateMessageResult | CreateMessageResultWithTools | ErrorData
]


def say(text: str) -> CreateMessageResult:
    """A model's reply."""
    content = TextContent(type="text", text=text)
    return CreateMessageResult(role="assistant", model="oak", content=content)


def text_of(result: mcp_types.CallToolResult) -> str:
    """The one text of a result."""
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


def _refuse(params: Any) -> ErrorData:
    return ErrorData(code=mcp_types.INVALID_REQUEST, message="nobody at the desk")


class Desk:
    """Answers to give and things heard; `reset` between tests."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.elicit: Elicit = _refuse
        self.sample: Sample = _refuse
        self.asked: list[ElicitRequestParams | CreateMessageRequestParams] = []
        self.logs: list[LoggingMessageNotificationParams] = []
        self.heard: list[Any] = []
        self._arrival = asyncio.Event()

    def take_elicitation(self, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        self.asked.append(params)
        return self.elicit(params)

    def take_sampling(
        self, params: CreateMessageRequestParams
    ) -> CreateMessageResult | CreateMessageResultWithTools | ErrorData:
        self.asked.append(params)
        return self.sample(params)

    async def take_log(self, params: LoggingMessageNotificationParams) -> None:
        self.logs.append(params)
        self._arrival.set()

    async def take_message(self, message: Any) -> None:
        self.heard.append(message)
        self._arrival.set()

    async def hear(self, kind: type[N]) -> N:
        """The first notification of a kind, now or when it comes."""
        await self.until(lambda: any(isinstance(message, kind) for message in self.heard))
        return next(message for message in self.heard if isinstance(message, kind))

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait until something that was heard makes `happened` true."""
        async with asyncio.timeout(CAP):
            while not happened():
                self._arrival.clear()
                await self._arrival.wait()


class Held(Generic[C, D]):
    """A connected client that several tests use, one after the other."""

    def __init__(
        self, way: Way, desk: D, open_client: Callable[[D], AbstractAsyncContextManager[C]]
    ) -> None:
        self.way = way
        self.era = way.era
        self.desk = desk
        self._runner = asyncio.Runner()
        self._done = asyncio.Event()
        self._runner.run(self._open(open_client))

    async def _open(self, open_client: Callable[[D], AbstractAsyncContextManager[C]]) -> None:
        opened: asyncio.Future[C] = asyncio.get_running_loop().create_future()

        async def hold() -> None:
            # Entered and left in one task: the cancel scopes of anyio insist on it.
            async with open_client(self.desk) as client:
                opened.set_result(client)
                await self._done.wait()

        self._task = asyncio.create_task(hold())
        async with asyncio.timeout(CAP):
            await asyncio.wait((opened, self._task), return_when=asyncio.FIRST_COMPLETED)
        if not opened.done():
            self._task.result()
        self.client = opened.result()

    def run(self, test: Callable[[C], Awaitable[T]]) -> T:
        """Run the test with the client."""

        async def limited() -> T:
            async with asyncio.timeout(CAP):
                return await test(self.client)

        return self._runner.run(limited())

    def close(self) -> None:
        async def leave() -> None:
            self._done.set()
            async with asyncio.timeout(CAP):
                await self._task

        self._runner.run(leave())
        self._runner.close()
