"""Calls whose result is fetched later, as a client of either era uses them.

A `ClientTask` is polled as often as the server wants, answers what the task asks by the client's
own callbacks, and gives the result. Where a server or a tool makes no task of a call, it is a task
that has ended already, so that whoever uses it need not care.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Raw, Struct

from dovetail.client.results import CallResult
from dovetail.errors import RpcError, ToolError

__all__ = ["ClientTask", "InputRequest", "TaskCalls", "TaskState"]

_FINAL = ("completed", "failed", "cancelled")
# Seconds between two looks where the server does not say.
_USUAL_POLL = 1.0
_SHORTEST_POLL = 0.01


class InputRequest(Struct):
    """Something that a task asks."""

    method: str
    params: dict[str, Any] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task at one moment."""

    id: str
    status: str
    message: str | None = None
    created_at: str = ""
    updated_at: str = ""
    # Milliseconds that the server keeps it, from its creation; None: forever.
    ttl_ms: float | None = None
    poll_ms: float | None = None
    # What it asks and what it has come to, where the state itself says so.
    asks: dict[str, InputRequest] = field(default_factory=dict)
    result: Raw | None = None
    error: RpcError | None = None

    @property
    def is_final(self) -> bool:
        """Whether it stays so."""
        return self.status in _FINAL


class TaskCalls(ABC):
    """What an era asks a server about tasks."""

    @abstractmethod
    async def create(
        self, name: str, arguments: dict[str, Any], ttl: float | None, meta: dict[str, Any] | None
    ) -> TaskState:
        """Call a tool; a result that came at once is a task that has ended."""

    @abstractmethod
    async def get(self, id: str) -> TaskState:
        """The task as it is now."""

    @abstractmethod
    async def answer(self, state: TaskState) -> None:
        """See to it that what the task asks is answered, each question once."""

    @abstractmethod
    async def result(self, state: TaskState) -> Raw:
        """What a task that has ended has come to; raises RpcError."""

    @abstractmethod
    async def cancel(self, id: str) -> None:
        """Ask the server to end it."""


class ClientTask:
    """A task of a server's: poll it, wait for its result, cancel it."""

    def __init__(self, calls: TaskCalls, state: TaskState, tool: str) -> None:
        self._calls = calls
        self.tool = tool
        # What was last heard of it.
        self.state = state

    @property
    def id(self) -> str:
        """What finds it again, in another process too; empty for a call that made no task."""
        return self.state.id

    async def refresh(self) -> TaskState:
        """Look at it once; nothing that it asks is answered."""
        if not self.state.is_final:
            self.state = await self._calls.get(self.id)
        return self.state

    async def updates(self) -> AsyncGenerator[TaskState, None]:
        """Its states as they change, until it has ended; what it asks is answered on the way."""
        told: TaskState | None = None
        while True:
            state = self.state
            if told is None or (state.status, state.message) != (told.status, told.message):
                told = state
                yield state
            if state.is_final:
                return
            if state.status == "input_required":
                await self._calls.answer(state)
            # The server says how often it wants to be asked.
            pause = _USUAL_POLL if state.poll_ms is None else state.poll_ms / 1000
            await asyncio.sleep(max(pause, _SHORTEST_POLL))
            await self.refresh()

    async def result(self, *, timeout: float | None = None) -> CallResult:
        """The result, when it is there; raises RpcError, or ToolError for a cancelled task."""
        async with asyncio.timeout(timeout), aclosing(self.updates()) as updates:
            async for _ in updates:
                pass
            if self.state.status == "cancelled":
                raise ToolError(self.state.message or "The task was cancelled.")
            return CallResult.read(self.tool, await self._calls.result(self.state))

    async def cancel(self) -> None:
        """Ask the server to end it; a task that has ended stays as it is."""
        if not self.state.is_final:
            await self._calls.cancel(self.id)
            await self.refresh()
